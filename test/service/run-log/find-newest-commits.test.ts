/** The search for the newest commits of many runs: what it finds, and how many batches it reads. */
import { describe, expect, it } from 'vitest';
import { commitNo, firstCommit } from '../../../lib/engine/ids.ts';
import { tombstoneCommit } from '../../../lib/engine/log/commit.ts';
import { memoryPorts } from '../../../lib/memory/memory-ports.ts';
import type { CommitKey } from '../../../lib/ports/run-log.ts';
import { commitsFoundInThreeReads, findNewestCommits } from '../../../lib/service/run-log/find-newest-commits.ts';
import { commit, freshRun } from '../../contract/samples.ts';
import { overrideMethods } from '../override-methods.ts';

/** Logs of these lengths, without their contents. @param beforeKey runs before each key of a batch is read */
function logs(lengths: readonly number[], beforeKey: (key: CommitKey, lengths: Map<string, number>) => void = () => {}) {
  const runs = lengths.map(() => freshRun());
  const now = new Map(runs.map(({ runId }, index) => [runId as string, lengths[index] ?? 0]));
  const batches: number[] = [];
  const log = overrideMethods(memoryPorts({ seed: 1 }).log, {
    commits: async (keys) => {
      batches.push(keys.length);
      return keys.map((key) => {
        beforeKey(key, now);
        return key.number <= (now.get(key.run.runId) ?? 0) ? commit(key.number) : undefined;
      });
    },
  });
  const find = async (from = 1): Promise<readonly (number | undefined)[]> => {
    const known = runs.map((run) => ({ run, number: commitNo(from) }));
    return (await findNewestCommits({ log }, known, () => false)).map((found) => found?.number);
  };
  return { runs, log, batches, find, now };
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('the newest commit', () => {
  it.each([1, 2, 7, 13, 50, 100])('of each of %i runs is found, for every length of the log', async (count) => {
    const lengths = [...upTo(400), 3_001, 9_999, 123_456, 9_999_999];
    for (let first = 0; first < lengths.length; first += count) {
      const some = lengths.slice(first, first + count);
      expect(await logs(some).find()).toEqual(some.map((length) => (length === 1 ? undefined : length)));
    }
  });

  it('is searched above the known commit', async () => {
    expect(await logs([40, 41, 90]).find(40)).toEqual([undefined, 41, 90]);
  });

  it('of no run costs no read', async () => {
    const { find, batches } = logs([]);
    expect([await find(), batches]).toEqual([[], []]);
  });
});

describe('a page of 50 runs', () => {
  const batchesFor = async (lengths: readonly number[]): Promise<readonly number[]> => {
    const { find, batches } = logs(lengths);
    await find();
    return batches;
  };
  const fifty = (length: number): readonly number[] => upTo(50).map(() => length);

  it.each([
    [0, 1],
    [1, 3],
    [8, 3],
    [commitsFoundInThreeReads, 3],
    [commitsFoundInThreeReads + 1, 5],
    [40, 7],
    [3_000, 13],
    [1_000_000, 20],
  ])('that are %i commits ahead costs %i batches of at most 100 keys', async (ahead, batches) => {
    const read = await batchesFor(fifty(1 + ahead));
    expect(read).toHaveLength(batches);
    expect(Math.max(...read)).toBeLessThanOrEqual(100);
  });

  it('costs no more batches when its runs differ', async () => {
    const [mixed, same] = [await batchesFor(upTo(50).map((index) => index * 60)), await batchesFor(fifty(3_000))];
    expect(mixed.length).toBeLessThanOrEqual(same.length);
  });

  it('with few open runs costs fewer batches, of no more keys', async () => {
    const { find, batches } = logs(upTo(5).map(() => 3_001));
    await find();
    expect(batches.length).toBeLessThanOrEqual(9);
    expect(Math.max(...batches)).toBeLessThanOrEqual(40);
  });
});

describe('while the runs continue', () => {
  it.each([1, 3, 40])(
    'the search finds a commit that was the newest meanwhile, with %i commits before each key',
    async (speed) => {
      const lengths = [1, 5, 30, 700];
      const grown = logs(lengths, ({ run }, now) => now.set(run.runId, (now.get(run.runId) ?? 0) + speed));
      const found = await grown.find();
      for (const [index, length] of lengths.entries()) {
        expect(found[index] ?? 1).toBeGreaterThanOrEqual(length);
        expect(found[index] ?? 1).toBeLessThanOrEqual([...grown.now.values()][index] ?? 0);
      }
    },
  );

  it('the end of a run stops its search, also if it comes between two reads', async () => {
    const { runs, log } = logs([7, 30]);
    const [run = freshRun(), other = freshRun()] = runs;
    const known = [run, other].map((one) => ({ run: one, number: firstCommit }));
    const found = await findNewestCommits({ log }, known, ({ number }) => number === 7);
    expect(found.map((one) => one?.number)).toEqual([7, 30]);
  });

  it('a tombstone of a run that is being deleted stops its search', async () => {
    const run = freshRun();
    const commits = upTo(12).map((number) => (number < 6 ? commit(number) : tombstoneCommit(commit(number))));
    const log = overrideMethods(memoryPorts({ seed: 1 }).log, {
      commits: async (keys) => keys.map(({ number }) => commits[number - 1]),
    });
    const isEnd = ({ events }: (typeof commits)[number]) => events.some(({ type }) => type === 'RUN_CANCELLED');
    const [found] = await findNewestCommits({ log }, [{ run, number: firstCommit }], isEnd);
    expect(found?.events).toEqual([{ type: 'RUN_CANCELLED' }]);
  });
});
