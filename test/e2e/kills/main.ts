/**
 * `npm run kills -- --minutes 10` (or `--kills 100`) repeatedly kills an embedded cloud under load, and an independent reader
 * checks its tables after each round. It continues the stored count of rounds and updates it. `--seed 7` runs
 * one round without counting.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from '../../../scripts/options.ts';
import { checkoutApp } from '../../../lib/local/synth/cdk-app.ts';
import { synthesize } from '../../../lib/local/synth/synthesize.ts';
import { Prng } from '../../simulation/prng.ts';
import { writeProof } from '../../simulation/write-proof.ts';
import { addRound, readCount, writeCount } from './count.ts';
import { root } from './killable-cloud.ts';
import { prepare } from './prepare.ts';
import { type Kill, runRound } from './round.ts';

const given = wholeNumber.exactOptional();
const values = parseOptionsOrExit({
  usage: 'usage: npm run kills -- [--minutes <n>] [--kills <n>] | --seed <n>',
  options: { minutes: { type: 'string' }, kills: { type: 'string' }, seed: { type: 'string' } },
  shape: z.object({ minutes: given, kills: given, seed: given }),
});

const countFile = join(root, 'test/simulation/proof/kills.json');
const killsInRound = 30;
const wholeRate = 0.25;

/** The first kills of a round are of threads, until the load has built up. */
function killsOf(seed: number): readonly Kill[] {
  const prng = new Prng(seed + 7_000_003);
  return Array.from({ length: killsInRound }, (_one, at) => (at > 1 && prng.isLucky(wholeRate) ? 'whole' : 'thread'));
}

const prepared = mkdtempSync(join(tmpdir(), 'stepwell-prepared-'));
try {
  await synthesize(checkoutApp(root), prepared);
  await prepare(prepared);
  if (values.seed === undefined) {
    await goOn();
    writeProof();
  } else console.dir(await runRound({ seed: values.seed, kills: killsOf(values.seed), prepared }), { depth: 4 });
} finally {
  rmSync(prepared, { recursive: true, force: true });
}

async function goOn(): Promise<void> {
  const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const count = readCount(countFile, commit);
  const until = Date.now() + (values.minutes ?? Infinity) * 60_000;
  const enough = count.kills.all + (values.kills ?? (values.minutes === undefined ? 100 : Infinity));
  while (Date.now() < until && count.kills.all < enough) {
    const seed = count.next;
    const startedAt = performance.now();
    try {
      addRound(count, await runRound({ seed, kills: killsOf(seed), prepared }));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      console.log(`seed ${seed}: ${message}`);
      count.violations.push({ seed, message: message.slice(0, 500) });
      process.exitCode = 1;
    }
    count.next = seed + 1;
    count.seconds += Math.round((performance.now() - startedAt) / 1_000);
    count.commits.last = commit;
    writeCount(countFile, count);
    const { kills, runs, commitsRead, violations } = count;
    console.log(
      `round ${seed}: ${kills.all} kills, ${kills.whole} of everything; ${runs.started} runs, ${commitsRead} commits, ${violations.length} violations`,
    );
  }
}
