/** A sleeping node wakes once, at its time, and never after the run's deadline. */
import { expect, test } from 'vitest';
import { after, days, hours, seconds } from '../../../lib/engine/time.ts';
import { type NodeTraits, finished, graph, ms, completesAtOnce, sleepsUntil } from '../graph-builder.ts';
import { type Settings, dawn, nth, started, describeEvents } from '../graph-run-fixture.ts';

const wakeAt = after(dawn, hours(2));
const naps: NodeTraits = { pure: (_input, now) => sleepsUntil(after(now, hours(2)), 'rested'), outputVariable: 'nap' };
const napping = (settings: Settings = {}) =>
  started(graph({ nodes: { start: completesAtOnce, nap: naps }, edges: ['start -> nap -> b', 'nap/error -> rescue'] }), settings);

test('a sleep begins in the commit that makes the node ready, and nothing follows it', () => {
  const play = napping();
  expect(describeEvents(play.commits[0]?.events ?? [])).toEqual([
    'INPUT_SET',
    'RUN_STARTED',
    'NODE_COMPLETED start',
    'SLEEP_STARTED nap',
  ]);
  expect(play.node('nap')).toMatchObject({ status: 'waiting', wakeAt });
  expect([play.statusOf('b'), play.status]).toEqual(['pending', 'pending']);
});

test('waking at its time completes the node with its output, and the next node is dispatched', () => {
  const play = napping();
  play.advanceTime(hours(2));
  expect(describeEvents(play.decide(play.woken('nap')))).toEqual([
    'RUN_STATUS_CHANGED',
    'NODE_COMPLETED nap',
    'NODE_SKIPPED rescue',
    'NODE_DISPATCHED b',
  ]);
  expect(play.node('nap')).toMatchObject({ status: 'completed', startedAt: dawn, endedAt: wakeAt });
  expect(play.inputOf('b').context.get('nap')).toBe('rested');
});

test('a wake-up that comes a millisecond early changes nothing', () => {
  const play = napping();
  play.advanceTime(ms(2 * 3_600_000 - 1));
  expect(play.decide(play.woken('nap'))).toEqual([]);
  play.advanceTime(ms(1));
  expect(play.decide(play.woken('nap'))).not.toEqual([]);
});

test('a wake-up that is repeated, late, or for another attempt changes nothing', () => {
  const play = napping();
  play.advanceTime(hours(2));
  const wake = play.woken('nap');
  expect(play.decide({ ...wake, attempt: nth(2) })).toEqual([]);
  play.decide(wake);
  expect(play.decide(wake)).toEqual([]);
  play.ends('b');
  expect([play.decide(wake), play.status]).toEqual([[], 'completed']);
});

test('a wake-up of a node that does not sleep changes nothing', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b'] }));
  expect(play.decide(play.woken('a'))).toEqual([]);
  expect(play.decide(play.woken('b'))).toEqual([]);
});

test('a result of a sleeping node changes nothing, and its loss fails it', () => {
  const play = napping();
  expect(play.decide(play.ended('nap'), play.started('nap'))).toEqual([]);
  play.decide(play.lost('nap'));
  expect(play.node('nap')).toMatchObject({ status: 'failed', failure: { cause: 'lost' } });
});

test.each([
  [7_200_000, 'waiting'],
  [7_199_999, 'failed'],
])('with the deadline %i ms away, a sleep of two hours is %s', (left, status) => {
  const play = napping({ deadlineAt: after(dawn, ms(left)) });
  expect(play.statusOf('nap')).toBe(status);
  if (status === 'failed') {
    expect(play.node('nap')).toMatchObject({ failure: { cause: 'deadline', code: 'sleep_past_deadline' } });
    expect(play.statuses('b', 'rescue')).toEqual(['skipped', 'queued']);
  }
});

test('a worker’s node can begin to sleep too, and its attempt is the one that wakes', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b'] }));
  play.decide(play.started('a'));
  play.ends('a', sleepsUntil(after(dawn, days(1)), 'answer'));
  expect(play.node('a')).toMatchObject({ status: 'waiting', attempt: 1, dispatchedIn: 3 });
  play.advanceTime(days(1));
  play.decide(play.woken('a'));
  expect(play.statuses('a', 'b')).toEqual(['completed', 'queued']);
});

test('a worker’s node that would sleep past the deadline fails', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a'] }), {
    deadlineAt: after(dawn, hours(1)),
  });
  play.ends('a', sleepsUntil(wakeAt));
  expect([play.statusOf('a'), play.status]).toEqual(['failed', 'failed']);
});

test('two parallel sleeps end by themselves, each at its time', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, short: { pure: sleepsUntil(after(dawn, seconds(5))) }, long: naps },
      edges: ['start -> short -> join', 'start -> long -> join'],
    }),
  );
  play.advanceTime(seconds(5));
  expect(play.decide(play.woken('long'))).toEqual([]);
  play.decide(play.woken('short'));
  expect(play.statuses('short', 'long', 'join')).toEqual(['completed', 'waiting', 'pending']);
  play.advanceTime(hours(2));
  play.decide(play.woken('long'));
  play.ends('join', finished());
  expect(play.status).toBe('completed');
});
