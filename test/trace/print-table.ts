/** Prints scenario × expected × got for every recording; the exit code is 1 when one is wrong. */
import { playOf } from '../../src/trace/play.ts';
import { replay } from '../../src/trace/replay.ts';
import { allTraces, compare } from '../helpers/traces.ts';

const filter = process.argv[2] ?? '';
let wrong = 0;
let containers = 0;
let scenarios = 0;
for (const trace of allTraces()) {
  const name = `${trace.set}/${trace.scenario}`;
  if (!name.includes(filter)) continue;
  scenarios++;
  for (const row of compare(trace.expected, replay(playOf(trace.load())))) {
    containers++;
    if (!row.isRight) wrong++;
    const columns = [name.padEnd(55), `${row.pod}/${row.container}`.padEnd(10), row.expected.padEnd(42), row.got];
    console.log(`${row.isRight ? 'ok   ' : 'WRONG'} ${columns.join(' ')}`);
  }
}
console.log(`\n${scenarios} recordings, ${containers} containers, ${wrong} wrong`);
if (wrong > 0 || scenarios === 0) process.exitCode = 1;
