/** The totals of all rounds so far, stored in a file. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { reportText } from '../../simulation/reports.ts';
import type { RoundReport } from './round.ts';

const amounts = z.record(z.string(), z.int());

export const countSchema = z.strictObject({
  /** the seed of the next round */
  next: z.int(),
  rounds: z.int(),
  /** kills of everything, and of threads by function, in completely checked rounds */
  kills: z.strictObject({ all: z.int(), whole: z.int(), threads: amounts }),
  restarts: z.int(),
  runs: z.strictObject({ started: z.int(), ended: amounts }),
  commitsRead: z.int(),
  /** external effects of nodes and steps, and how many of them repeated their attempt */
  effects: z.strictObject({ counted: z.int(), repeated: z.int() }),
  /** runs with the predicted outcome */
  foretold: z.int(),
  /** nodes that failed because their message became a dead letter */
  lostNodes: z.int(),
  eventsRead: z.int(),
  /** from the last kill of a round until all its runs ended: by the machine's clock, and by the cloud's, which skips idle time */
  longestToRest: z.strictObject({ seconds: z.number(), ofCloudSeconds: z.number() }),
  violations: z.array(z.strictObject({ seed: z.int(), message: z.string() })),
  /** product bugs that these rounds found, and their fixes */
  found: z.array(z.string()),
  seconds: z.int(),
  commits: z.strictObject({ first: z.string(), last: z.string() }),
});

export type KillCounts = z.output<typeof countSchema>;

const empty = (commit: string): KillCounts => ({
  next: 1,
  rounds: 0,
  kills: { all: 0, whole: 0, threads: {} },
  restarts: 0,
  runs: { started: 0, ended: {} },
  commitsRead: 0,
  effects: { counted: 0, repeated: 0 },
  foretold: 0,
  lostNodes: 0,
  eventsRead: 0,
  longestToRest: { seconds: 0, ofCloudSeconds: 0 },
  violations: [],
  found: [],
  seconds: 0,
  commits: { first: commit, last: commit },
});

export const readCount = (file: string, commit: string): KillCounts =>
  existsSync(file) ? countSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : empty(commit);

export function writeCount(file: string, count: KillCounts): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, reportText(count));
}

export function addRound(count: KillCounts, { kills, restarts, result, timeToSettleMs, cloudTimeToSettleMs }: RoundReport): void {
  const { whole = 0, ...threads } = kills;
  count.rounds += 1;
  count.kills.whole += whole;
  addAll(count.kills.threads, threads);
  count.kills.all += Object.values(kills).reduce((sum, each) => sum + each, 0);
  count.restarts += restarts;
  count.runs.started += result.runs;
  addAll(count.runs.ended, result.byStatus);
  count.commitsRead += result.commits;
  count.effects.counted += result.effects;
  count.effects.repeated += result.repeated;
  count.foretold += result.foretold;
  count.lostNodes += result.lost;
  count.eventsRead += result.eventsRead;
  const { longestToRest } = count;
  longestToRest.seconds = Math.max(longestToRest.seconds, Math.round(timeToSettleMs / 100) / 10);
  longestToRest.ofCloudSeconds = Math.max(longestToRest.ofCloudSeconds, Math.round(cloudTimeToSettleMs / 100) / 10);
}

function addAll(sums: Record<string, number>, others: Readonly<Record<string, number>>): void {
  for (const name of Object.keys(others).toSorted()) sums[name] = (sums[name] ?? 0) + (others[name] ?? 0);
}
