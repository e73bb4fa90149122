/** What an open run is listed under: that it keeps retrying comes before that it waits, and work under way is neither. */
import { expect, test } from 'vitest';
import { attentionOf } from '../../../lib/engine/log/attention.ts';
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

test('a run whose only open node sleeps waits', () => {
  expect(attention(sleeperAnd())).toBe('waiting');
});

test('a run in which one branch sleeps and another is at work just runs', () => {
  const play = sleeperAnd('work');
  expect(attention(play)).toBeUndefined();
  play.decide(play.started('work'));
  expect(attention(play)).toBeUndefined();
});

test('one node in a later attempt makes it a run that keeps retrying, whatever else is open, and until that attempt has ended', () => {
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

test('a run that starts later waits until the very moment, and just runs from then on', () => {
  const play = new GraphRunFixture(graph({ nodes: { a: {} } }));
  play.start({}, after(dawn, seconds(90)));
  expect(attention(play)).toBe('waiting');
  play.advanceTime(seconds(89));
  expect(attention(play)).toBe('waiting');
  play.advanceTime(seconds(1));
  expect(attention(play)).toBeUndefined();
});

test('a run that waits for a place waits, and with one it just runs', () => {
  const play = started(graph({ nodes: { a: {} }, options: { maxConcurrentRuns: 2 } }));
  expect(play.open()).toEqual([]);
  expect(attention(play)).toBe('waiting');
  play.decide({ kind: 'slot-taken', slot: 0 });
  expect(attention(play)).toBeUndefined();
});

test('a run that has ended asks for nothing', () => {
  const play = sleeperAnd('flaky');
  play.ends('flaky', failed());
  play.decide({ kind: 'cancel-requested' });
  expect(attention(play)).toBeUndefined();
});
