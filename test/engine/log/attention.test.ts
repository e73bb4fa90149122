/** The index entry of an open run: retrying comes before waiting, and a run in progress has none. */
import { expect, test } from 'vitest';
import { attentionOf } from '../../../lib/engine/log/open-nodes.ts';
import { after, days, minutes, seconds } from '../../../lib/engine/time.ts';
import { failed, graph, completesAtOnce, sleepsUntil, threeAttempts } from '../graph-builder.ts';
import { GraphRunFixture, dawn, started } from '../graph-run-fixture.ts';

const slow = { ...threeAttempts, backoffMs: minutes(30), maxBackoffMs: minutes(30) };
const attention = (play: GraphRunFixture) => attentionOf(play.state, play.now);

const sleeperAnd = (...others: readonly string[]): GraphRunFixture =>
  started(
    graph({
      edges: ['start -> nap', ...others.map((id) => `start -> ${id}`)],
      nodes: {
        start: completesAtOnce,
        nap: { pure: sleepsUntil(after(dawn, days(1))) },
        ...(others.includes('flaky') && { flaky: { retry: slow } }),
      },
    }),
  );

test('a run whose only open node sleeps is waiting', () => {
  expect(attention(sleeperAnd())).toBe('waiting');
});

test('a run with one sleeping and one working branch has no entry', () => {
  const play = sleeperAnd('work');
  expect(attention(play)).toBeUndefined();
  play.decide(play.started('work'));
  expect(attention(play)).toBeUndefined();
});

test('a run with a node in a later attempt is retrying until that attempt has ended, also while other nodes are open', () => {
  const play = sleeperAnd('flaky', 'work');
  expect(attention(play)).toBeUndefined();
  play.ends('flaky', failed());
  expect(attention(play)).toBe('retrying');
  play.advanceTime(minutes(30));
  play.ends('flaky');
  expect(attention(play)).toBeUndefined();
  play.ends('work');
  expect(attention(play)).toBe('waiting');
});

test('a run with a later start waits until exactly that time', () => {
  const play = new GraphRunFixture(graph({ nodes: { a: {} } }));
  play.start({}, after(dawn, seconds(90)));
  expect(attention(play)).toBe('waiting');
  play.advanceTime(seconds(89));
  expect(attention(play)).toBe('waiting');
  play.advanceTime(seconds(1));
  expect(attention(play)).toBeUndefined();
});

test('a run that waits for a slot is waiting, and with one it is not', () => {
  const play = started(graph({ nodes: { a: {} }, options: { maxConcurrentRuns: 2 } }));
  expect(play.open()).toEqual([]);
  expect(attention(play)).toBe('waiting');
  play.decide({ kind: 'slot-taken', slot: 0 });
  expect(attention(play)).toBeUndefined();
});

test('a run that has ended has no entry', () => {
  const play = sleeperAnd('flaky');
  play.ends('flaky', failed());
  play.decide({ kind: 'cancel-requested' });
  expect(attention(play)).toBeUndefined();
});
