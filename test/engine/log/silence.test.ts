/** Silence is judged node by node: a busy branch hides no dead one, and a long wait is no silence at all. */
import { expect, test } from 'vitest';
import { nodeKey } from '../../../lib/engine/ids.ts';
import { type Sign, minuteOf, nextLook, silenceOf, silences } from '../../../lib/engine/log/silence.ts';
import { type DurationMs, after, days, durationMs, hours, instant, minutes, seconds } from '../../../lib/engine/time.ts';
import { failed, graph, passes, sleepsUntil, threeAttempts } from '../graphs.ts';
import { Play, dawn, refOf, started } from '../play.ts';

const later = (wait: DurationMs) => after(dawn, wait);
const sign = (id: string, wait: DurationMs, resends = 0): Sign => ({ node: nodeKey(refOf(id)), at: later(wait), resends });

const kindAt = (play: Play, id: string, wait: DurationMs, last?: Sign): string => {
  const node = play.open().find((open) => open.nodeId === id);
  return node === undefined ? 'not open' : silenceOf(node, last, later(wait)).kind;
};

const queued = () => started(graph({ edges: ['start -> a'], nodes: { start: passes } }));
const running = () => {
  const play = queued();
  play.say(play.started('a'));
  return play;
};
const sleeping = (wait: DurationMs) =>
  started(graph({ edges: ['start -> a'], nodes: { start: passes, a: { pure: sleepsUntil(later(wait)) } } }), {
    deadlineAt: later(days(365)),
  });

test.each([
  ['a queued node', queued],
  ['a running node', running],
])('%s is silent 100 s after its dispatch, and not before', (_what, play) => {
  expect(kindAt(play(), 'a', durationMs(99_999))).toBe('young');
  expect(kindAt(play(), 'a', seconds(100))).toBe('silent');
});

test.each([
  [0, 100],
  [1, 200],
  [2, 400],
  [5, 3_200],
  [6, 3_600],
  [40, 3_600],
])('after %i re-sends the patience is %i s', (resends, patienceSeconds) => {
  const last = sign('a', seconds(10), resends);
  expect(kindAt(queued(), 'a', durationMs((10 + patienceSeconds) * 1_000 - 1), last)).toBe('young');
  expect(kindAt(queued(), 'a', seconds(10 + patienceSeconds), last)).toBe('silent');
});

test('a beat keeps a running node young', () => {
  expect(kindAt(running(), 'a', hours(3), sign('a', durationMs(3 * 3_600_000 - 99_999)))).toBe('young');
  expect(kindAt(running(), 'a', hours(3), sign('a', durationMs(3 * 3_600_000 - 100_000)))).toBe('silent');
});

test('a sign from before the attempt was asked for says nothing of it', () => {
  const play = started(graph({ edges: ['start -> a'], nodes: { start: passes, a: { retry: threeAttempts } } }));
  play.pass(hours(1));
  play.ends('a', failed('timeout'));
  const old = sign('a', minutes(59), 5);
  expect(kindAt(play, 'a', hours(1))).toBe('asleep');
  expect(kindAt(play, 'a', durationMs(3_600_000 + 1_000 + 99_999), old)).toBe('young');
  expect(kindAt(play, 'a', durationMs(3_600_000 + 1_000 + 100_000), old)).toBe('silent');
});

test('a sleeper is asleep until its time, then given the grace of its timer, then silent', () => {
  const play = sleeping(days(300));
  const woken = 300 * 86_400_000;
  expect(kindAt(play, 'a', days(299))).toBe('asleep');
  expect(kindAt(play, 'a', durationMs(woken - 1))).toBe('asleep');
  expect(kindAt(play, 'a', durationMs(woken))).toBe('young');
  expect(kindAt(play, 'a', durationMs(woken + 59_999))).toBe('young');
  expect(kindAt(play, 'a', durationMs(woken + 60_000))).toBe('silent');
  expect(kindAt(play, 'a', durationMs(woken + 60_000), sign('a', durationMs(woken + 1), 1))).toBe('young');
});

test('a run that starts later is not silent before it does', () => {
  const play = new Play(graph({ edges: ['start -> a'], nodes: { start: passes } }));
  play.start({}, later(days(2)));
  expect(kindAt(play, 'start', days(1))).toBe('asleep');
  expect(kindAt(play, 'start', durationMs(2 * 86_400_000 + 99_999))).toBe('young');
  expect(kindAt(play, 'start', durationMs(2 * 86_400_000 + 100_000))).toBe('silent');
  expect(nextLook(play.state, later(days(7)), dawn)).toBe(later(durationMs(2 * 86_400_000 + 60_000)));
});

test('a busy branch does not hide a dead one', () => {
  const play = started(graph({ edges: ['start -> busy', 'start -> dead'], nodes: { start: passes } }));
  const found = silences(play.state, [sign('busy', seconds(500))], later(seconds(520)));
  expect(found.map(([key, { kind }]) => [key, kind])).toEqual([
    ['busy', 'young'],
    ['dead', 'silent'],
  ]);
});

test('a healthy slow node after a sleep is judged from its own dispatch', () => {
  const play = started(
    graph({ edges: ['start -> nap -> slow'], nodes: { start: passes, nap: { pure: sleepsUntil(later(hours(2))) } } }),
  );
  play.pass(hours(2));
  play.say(play.woken('nap'));
  expect(kindAt(play, 'slow', durationMs(2 * 3_600_000 + 90_000))).toBe('young');
});

test('the sweep looks again in two minutes while a node is at work', () => {
  expect(nextLook(queued().state, later(days(7)), dawn)).toBe(later(minutes(2)));
  expect(nextLook(running().state, later(days(7)), later(hours(1)))).toBe(later(minutes(62)));
});

test('the sweep looks at a sleeper a minute after its time', () => {
  expect(nextLook(sleeping(days(3)).state, later(days(7)), later(days(1)))).toBe(later(durationMs(3 * 86_400_000 + 60_000)));
  expect(nextLook(sleeping(days(3)).state, later(days(7)), later(days(4)))).toBe(later(durationMs(4 * 86_400_000 + 120_000)));
});

test('the sweep looks at the earliest of all that is open, and at the deadline at the latest', () => {
  const play = started(
    graph({
      edges: ['start -> nap', 'start -> work'],
      nodes: { start: passes, nap: { pure: sleepsUntil(later(seconds(30))) } },
    }),
  );
  expect(nextLook(play.state, later(days(7)), dawn)).toBe(later(seconds(90)));
  expect(nextLook(play.state, later(seconds(45)), dawn)).toBe(later(seconds(45)));
  expect(nextLook(sleeping(days(3)).state, later(days(2)), dawn)).toBe(later(days(2)));
});

test('a retry that waits is looked for a minute after its time', () => {
  const retry = { ...threeAttempts, backoffMs: minutes(30), maxBackoffMs: minutes(30) };
  const play = started(graph({ nodes: { a: { retry } } }));
  play.ends('a', failed());
  expect(nextLook(play.state, later(days(7)), dawn)).toBe(later(minutes(31)));
});

test('a minute holds its first moment and not the next one’s', () => {
  expect([0, 59_999, 60_000].map((moment) => minuteOf(instant(moment)))).toEqual([0, 0, 1]);
});

test('an ended run has nobody to be silent', () => {
  const play = queued();
  play.say({ kind: 'cancel-requested' });
  expect(silences(play.state, [], later(days(1)))).toEqual([]);
  expect(kindAt(play, 'a', seconds(0))).toBe('not open');
});
