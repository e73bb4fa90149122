/** `npm run simulate -- --seed 42` replays one seed; `--seeds 1000` runs many and prints what was injected. */
import { parseArgs } from 'node:util';
import { noFaults, roughWeather } from './faults.ts';
import { simulate } from './simulation.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, seeds: { type: 'string' }, from: { type: 'string' }, calm: { type: 'boolean' } },
});
const rates = values.calm === true ? noFaults : roughWeather;
const first = Number(values.seed ?? values.from ?? 1);
const count = values.seed === undefined ? Number(values.seeds ?? 200) : 1;
const totals = new Map<string, number>();
const startedAt = performance.now();
let failures = 0;
let longestOverlapMs = 0;
for (let seed = first; seed < first + count; seed += 1) {
  try {
    const report = await simulate({ seed, rates });
    const { calls, commits, woken, signalsSent, signalsGiven, waitsUnmet } = report;
    longestOverlapMs = Math.max(longestOverlapMs, report.longestOverlapMs);
    for (const [name, value] of Object.entries({ ...report.counts, calls, commits, woken, signalsSent, signalsGiven, waitsUnmet })) {
      totals.set(name, (totals.get(name) ?? 0) + value);
    }
    if (count === 1) console.log(report.summary.join('\n'));
  } catch (trouble) {
    failures += 1;
    console.log(`seed ${seed}: ${trouble instanceof Error ? (count === 1 ? trouble.stack : trouble.message) : String(trouble)}`);
  }
}
console.log(Object.fromEntries(totals));
console.log(`an acknowledged signal waited beside a wait that it fits for ${longestOverlapMs} ms at most`);
console.log(`${count} seeds, ${failures} failed, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
process.exitCode = failures === 0 ? 0 : 1;
