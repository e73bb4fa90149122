/**
 * `npm run simulate:devkit` runs 2,000 seeds of runs of the Workflow DevKit, with each set of faults, and stores the counts for
 * docs/PROOF.md. `-- --seed 42 --faults 'lost deliveries'` replays one seed.
 */
import { execFileSync } from 'node:child_process';
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from '../../../scripts/options.ts';
import { type FaultProfile, faultProfiles } from '../planted-bugs/fault-profiles.ts';
import { type DevKitSeeds, writeReport } from '../reports.ts';
import { writeProof } from '../write-proof.ts';
import { simulateDevKit } from './simulate-devkit.ts';

const profiles = z.enum(Object.keys(faultProfiles).filter((name): name is FaultProfile => Object.hasOwn(faultProfiles, name)));
const values = parseOptionsOrExit({
  usage: `usage: npm run simulate:devkit
       npm run simulate:devkit -- --seed <n> [--faults <name>]`,
  options: { seed: { type: 'string' }, faults: { type: 'string', default: 'chaos' } },
  shape: z.object({ seed: wholeNumber.exactOptional(), faults: profiles }),
});

/** How many of the seeds have which faults. The deep tier runs other ones: it begins at 1. */
const shares = [
  ['chaos', 700],
  ['right clocks', 400],
  ['none', 200],
  ['stragglers', 200],
  ['frozen processes', 200],
  ['lost deliveries', 150],
  ['throttled stores', 150],
] as const;
const firstSeed = 1_001;

type Row = DevKitSeeds['rows'][number];

async function countRow(faults: FaultProfile, seeds: number): Promise<Row> {
  const row = { faults, seeds, failed: 0, commits: 0, received: 0, conflicts: 0, chunksRead: 0, largeRead: 0 };
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    try {
      const report = await simulateDevKit({ seed, rates: faultProfiles[faults] });
      for (const name of ['commits', 'received', 'conflicts', 'chunksRead', 'largeRead'] as const) row[name] += report[name];
    } catch (thrown) {
      row.failed += 1;
      console.log(`npm run simulate:devkit -- --seed ${seed} --faults '${faults}':`, thrown);
    }
  }
  console.log(`${faults}: ${seeds} seeds, ${row.failed} failed`);
  return row;
}

if (values.seed !== undefined) {
  const { summary, ...report } = await simulateDevKit({ seed: values.seed, rates: faultProfiles[values.faults] });
  console.log(report);
  console.log(summary.join('\n'));
} else {
  const startedAt = performance.now();
  const rows: Row[] = [];
  for (const [faults, seeds] of shares) rows.push(await countRow(faults, seeds));
  const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim();
  const report: DevKitSeeds = { commit, seconds: Math.round((performance.now() - startedAt) / 1_000), rows };
  writeReport('devkit-seeds', report);
  writeProof();
  if (rows.some(({ failed }) => failed > 0)) process.exitCode = 1;
}
