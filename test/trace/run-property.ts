/** `npm run test:property -- --runs N [--seed S] [--path P]`: the damage property, as often as you like. */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { damageProperty } from './damage-property.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '100000' }, seed: { type: 'string' }, path: { type: 'string' } },
});
const began = performance.now();
const result = fc.check(damageProperty(), {
  numRuns: Number(values.runs),
  ...(values.seed === undefined ? {} : { seed: Number(values.seed) }),
  ...(values.path === undefined ? {} : { path: values.path }),
});
const seconds = ((performance.now() - began) / 1000).toFixed(1);
console.log(`${result.numRuns} damaged histories in ${seconds} s, seed ${result.seed}`);
if (result.failed) {
  console.log(fc.defaultReportMessage(result));
  process.exitCode = 1;
}
