/** A stored and restored fold is the same, including parts that only some runs have. */
import { expect, test } from 'vitest';
import { attempt, commitNo, eventId, nodeKey, nonce } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { emptyState } from '../../../lib/engine/log/fold.ts';
import { type StoredFold, shouldTakeSnapshot, restoreFold, storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { after, seconds } from '../../../lib/engine/time.ts';
import { finished, graph, completesAtOnce, sleepsUntil } from '../graph-builder.ts';
import { dawn, foldOf, plain, refOf, started } from '../graph-run-fixture.ts';

const restored = (stored: StoredFold) => restoreFold(structuredClone(stored));

test('a graph run with an open loop, a sleeper and written variables is restored unchanged', () => {
  const play = started(
    graph({
      edges: ['start -> each', 'each/loop -> work -> more', 'start -> nap', 'start -> done'],
      nodes: {
        start: completesAtOnce,
        each: { loop: { over: [1, 2, 3], concurrency: 2 } },
        work: { outputVariable: 'seen' },
        nap: { pure: sleepsUntil(after(dawn, seconds(9))) },
        done: { pure: finished('yes'), outputVariable: 'done' },
      },
    }),
  );
  play.ends('work@each[1]');
  const read = restored(storeFold(play.state));
  expect(plain(read)).toEqual(plain(play.state));
  expect(play.state.iterations.size).toBe(2);
  expect([...read.open.keys()]).toContain(nodeKey(refOf('nap')));
  expect([...read.open.keys()]).not.toContain(nodeKey(refOf('done')));
});

test('slots and code state are stored only for runs that have them', () => {
  const step: RunEvent = {
    type: 'NODE_DISPATCHED',
    ...refOf('charge'),
    attempt: attempt(1),
    via: 'queue',
    wave: 0,
    step: { kind: 'function', key: 'charge' },
  };
  const logOf = (...events: readonly RunEvent[]) =>
    foldOf([{ number: commitNo(1), firstEventId: eventId(1), events, at: dawn, by: 'test', nonce: nonce('n') }]);
  const full = logOf({ type: 'SLOT_AWAITED', slots: 2 }, { type: 'SLOT_TAKEN', slot: 1 }, step);
  expect(restored(storeFold(full))).toMatchObject({ admission: { slots: 2, slot: 1 }, code: { stepAttempts: 1 } });
  const bare = restored(storeFold(logOf({ type: 'INPUT_SET', input: inline(1) })));
  for (const fold of [bare, storeFold(bare)]) {
    expect(fold).not.toHaveProperty('admission');
    expect(fold).not.toHaveProperty('code');
  }
});

test('an empty fold is not stored', () => {
  expect(() => storeFold(emptyState())).toThrow('an empty fold cannot be stored');
});

test('a snapshot is due at 64 commits, and restored whenever the log has grown by half', () => {
  expect([63, 64].map((asOf) => shouldTakeSnapshot(asOf, 0))).toEqual([false, true]);
  expect([64, 95, 96].map((asOf) => shouldTakeSnapshot(asOf, 64))).toEqual([false, false, true]);
  expect([149, 150].map((asOf) => shouldTakeSnapshot(asOf, 100))).toEqual([false, true]);
});
