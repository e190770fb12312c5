/**
 * `npm run test:chaos -- --builds N [--seed S]`: plays worlds until N builds (default 5,000) were played, and prints what
 * was wrong with its seed. `--seed S` begins there (default: by the time); with `--builds 1` it plays just that one.
 */
import { parseArgs } from 'node:util';
import { playWorld } from './world.ts';

const { values } = parseArgs({
  options: { builds: { type: 'string', default: '5000' }, seed: { type: 'string' } },
});
const wanted = Number(values.builds);
const first = Number(values.seed ?? Date.now() % 1_000_000);
const startedAt = Date.now();
const outcomes = new Map<string, number>();
let builds = 0;
let seed = first;
let bad = 0;
for (; builds < wanted; seed++) {
  const { plan, reports, wrong } = await playWorld(seed);
  builds += reports.length;
  for (const { steps } of reports) {
    for (const { verdict } of steps.values()) {
      const name = verdict?.outcome === 'terminated' ? verdict.cause : (verdict?.outcome ?? 'none');
      outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
    }
  }
  if (wrong.length === 0) continue;
  bad++;
  const { profile, placeholderCode, deathsMs, faults } = plan;
  console.log(
    `seed ${seed}: ${JSON.stringify({ profile, placeholderCode, deathsMs, faults })}\n  ${wrong.join('\n  ')}`,
  );
}
console.log(`verdicts: ${[...outcomes].map(([name, count]) => `${name} ${count}`).join(', ')}`);
console.log(
  `${builds} builds in ${seed - first} worlds (seeds ${first} to ${seed - 1}), ${bad} worlds with something wrong, ` +
    `${((Date.now() - startedAt) / 1000).toFixed(0)} s`,
);
if (bad > 0) process.exitCode = 1;
