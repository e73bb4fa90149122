import { expect, test } from 'vitest';
import { commitNo, eventId, nonce } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { instant } from '../../../lib/engine/time.ts';
import { FoldCache } from '../../../lib/service/run-log/fold-cache.ts';
import { LatestCommits } from '../../../lib/service/run-log/latest-commits.ts';
import { createDevKitEnv } from '../devkit-test-env.ts';

/** A commit of two events, with values of this length. */
const commit = (number: number, length = 1): Commit => {
  const event = { type: 'DEVKIT', event: 'step_completed', specVersion: 5, payload: inline('x'.repeat(length)) } as const;
  return {
    number: commitNo(number),
    firstEventId: eventId(2 * number - 1),
    events: [event, event],
    at: instant(0),
    by: 'test',
    nonce: nonce('none-of-a-test'),
  };
};
const numbersOf = (commits: readonly Commit[] | undefined): readonly number[] | undefined => commits?.map(({ number }) => number);

test('answers the commits with events after a position, if it has all of them', () => {
  const latest = new LatestCommits();
  expect(latest.after(0)).toBeUndefined();
  for (const number of [3, 4, 5]) latest.add(commit(number));
  // The commit 3 has the events 5 and 6.
  expect([3, 4, 5, 6, 8, 10].map((position) => numbersOf(latest.after(position)))).toEqual([
    undefined,
    [3, 4, 5],
    [3, 4, 5],
    [4, 5],
    [5],
    [5],
  ]);
  expect(numbersOf(latest.of([commitNo(1), commitNo(4), commitNo(6)]))).toEqual([4]);
});

test('keeps four megabytes, of the newest commits', () => {
  const latest = new LatestCommits();
  for (let number = 1; number <= 100; number += 1) latest.add(commit(number, 80_000));
  expect(numbersOf(latest.after(199 - 2 * 24))?.length).toBe(25);
  expect(latest.after(199 - 2 * 27)).toBeUndefined();
  expect(latest.bytes).toBeLessThanOrEqual(4_194_304);
  latest.add(commit(101, 3_000_000));
  expect(latest.after(200)).toBeUndefined();
  latest.add(commit(102));
  expect(numbersOf(latest.after(202))).toEqual([102]);
});

test('holds a run of the 4.x line with thousands of small steps from its first commit on', () => {
  const latest = new LatestCommits();
  for (let number = 1; number <= 6_000; number += 1) latest.add(commit(number, 200));
  expect(latest.after(0)).toHaveLength(6_000);
});

test('is replaced by a log that was read as a whole', () => {
  const latest = new LatestCommits();
  latest.add(commit(3));
  latest.replace([1, 2, 3].map((number) => commit(number)));
  latest.add(commit(4));
  expect(numbersOf(latest.after(0))).toEqual([1, 2, 3, 4]);
});

test('of all runs of a process take eight megabytes, and the most recent runs keep theirs', async () => {
  const { env, start } = await createDevKitEnv();
  const cache = new FoldCache();
  const folds = [];
  for (let run = 0; run < 3; run += 1) {
    const { fold } = await cache.borrow(env.deps, await start(), true);
    if (fold === undefined) throw new Error('no run');
    fold.latest?.replace([commit(1, 1_900_000)]);
    cache.put(fold);
    folds.push(fold);
  }
  expect(folds.map(({ latest }) => latest !== undefined)).toEqual([false, true, true]);
});
