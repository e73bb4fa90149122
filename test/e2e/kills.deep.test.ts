/**
 * Real kills: at times from a seed, a thread or all processes of an embedded cloud under load get SIGKILL. The cloud is started
 * again on the same folder. When its runs have ended, an independent reader checks its tables. `npm run kills` runs more rounds.
 */
import { expect, test } from 'vitest';
import { runsTableKeys } from '../../lib/contract/environment.ts';
import { partitionOf } from '../../lib/contract/record-kinds.ts';
import { prepare } from './kills/prepare.ts';
import { type Evidence, compare, checkRound } from './kills/check-round.ts';
import { runRound } from './kills/round.ts';
import { type Reading, type Tables, readTables } from './kills/tables.ts';
import { preparedFolder } from './local-start.ts';

/** Chosen so that one round covers all kinds of kills and runs. */
const seed = 1;

test('five kills under load: no effect is lost or repeated without a crash, and every run ends', async () => {
  const prepared = preparedFolder();
  await prepare(prepared);
  const asked = { seed, kills: ['thread', 'whole', 'thread', 'whole', 'whole'], prepared } as const;
  const { kills, result } = await runRound(asked, async (rested) => {
    // Verify that the reader finds planted errors.
    for (const [fault, plant] of faults) {
      const undo = await plant(rested);
      await expect(checkAgain(rested), fault).rejects.toThrow(/^invariant \d+: /);
      await undo();
    }
    await checkAgain(rested);
  }).catch((cause: unknown) => {
    throw new Error(`a round of kills failed; replay: npm run kills -- --seed ${seed}`, { cause });
  });
  const { whole = 0, ...threads } = kills;
  expect(whole).toBe(3);
  expect(Object.values(threads).reduce((sum, each) => sum + each, 0)).toBe(2);
  expect(result.byStatus['completed'] ?? 0).toBeGreaterThan(2);
  expect(result.commits).toBeGreaterThan(20);
});

interface SettledRound {
  readonly tables: Tables;
  readonly evidence: Evidence;
  readonly reading: Reading;
}

async function checkAgain({ tables, evidence, reading }: SettledRound): Promise<void> {
  const now = await readTables(tables);
  await checkRound(now, evidence);
  const known = new Map<string, string>();
  compare(reading, known);
  compare(now, known);
}

type Plant = (rested: SettledRound) => Promise<() => Promise<void>>;

/** A run that was not cancelled and has effects, and the keys of one of its items. Commit 2 may be in its head. */
const someRun = ({ reading, evidence }: SettledRound) => {
  const ended = [...reading.runs.values()].filter(
    // A graph run: all its items are in one partition.
    ({ address: { runId }, kind, status, commits }) =>
      kind === 'graph' && status === 'completed' && commits.length > 3 && evidence.facts.starts.has(runId),
  );
  const [run] = ended;
  if (run === undefined) throw new Error('no run has ended');
  const { projectId, environment, runId } = run.address;
  return { run, pk: { S: partitionOf('run', projectId, environment, runId) } };
};

/** Changes a stored item. @returns a function that restores it */
const changed =
  (sk: (commits: number) => string, change: (item: Record<string, unknown>) => Record<string, unknown> | undefined): Plant =>
  async (rested) => {
    const { tables } = rested;
    const { run, pk } = someRun(rested);
    const Key = { pk, sk: { S: sk(run.commits.length) } };
    const TableName = await tables.runsTable();
    const item = (await tables.scan({ ConsistentRead: true })).find(
      (each) => JSON.stringify([each['pk'], each['sk']]) === JSON.stringify([Key.pk, Key.sk]),
    );
    if (item === undefined) throw new Error(`${Key.sk.S} does not exist`);
    const fresh = change({ ...item });
    if (fresh === undefined) await tables.ask('DeleteItem', { TableName, Key });
    else await tables.ask('PutItem', { TableName, Item: fresh });
    return async () => {
      if (fresh !== undefined) await tables.ask('DeleteItem', { TableName, Key: { pk, sk: fresh['sk'] } });
      await tables.ask('PutItem', { TableName, Item: item });
    };
  };

const logSort = (number: number): string => `log#${String(number).padStart(8, '0')}`;
const { byProject } = runsTableKeys;

/** An effect that the effect server should not have received. */
const seenToo =
  (more: (evidence: Evidence, runId: string) => Evidence['effects'][number]): Plant =>
  async (rested) => {
    const { effects } = rested.evidence;
    const { run } = someRun(rested);
    effects.push(more(rested.evidence, run.address.runId));
    return async () => void effects.pop();
  };

const faults: readonly (readonly [string, Plant])[] = [
  [
    'a commit in the middle is gone',
    changed(
      () => logSort(3),
      () => undefined,
    ),
  ],
  ['the last commit is gone: a run that never ends', changed(logSort, () => undefined)],
  [
    'a commit is another one than it was',
    changed(
      () => logSort(3),
      (item) => ({ ...item, b: { S: 'unknown' } }),
    ),
  ],
  ['a commit is there twice', changed(logSort, (item) => ({ ...item, sk: { S: logSort(90) } }))],
  [
    'the head says that the run is still at work',
    changed(
      () => 'head',
      (item) => ({ ...item, status: { S: 'running' } }),
    ),
  ],
  [
    'the run is in no index',
    changed(
      () => 'head',
      ({ [byProject.sort]: _sort, ...item }) => item,
    ),
  ],
  [
    'the head of an acknowledged run is gone',
    changed(
      () => 'head',
      () => undefined,
    ),
  ],
  [
    'an effect that no commit asked for',
    seenToo((_evidence, runId) => ({ at: Date.now(), kind: 'node', runId, of: 'unknown', attempt: '0'.repeat(16) })),
  ],
  [
    'an effect that comes again long after its attempt had ended',
    seenToo(({ effects }) => {
      const [first] = effects.filter(({ kind }) => kind !== 'undo');
      if (first === undefined) throw new Error('there is no effect');
      return { ...first, at: Date.now() + 3_600_000 };
    }),
  ],
];
