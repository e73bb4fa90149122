/** Heartbeat timeouts are evaluated per node: a busy branch hides no stuck one, and a long wait is not a timeout. */
import { expect, test } from 'vitest';
import { attempt, commitNo, eventId, nodeKey, nonce } from '../../../lib/engine/ids.ts';
import { inline } from '../../../lib/engine/json.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import {
  type Heartbeat,
  isRecheckPending,
  recheckKey,
  minuteOf,
  nextCheck,
  heartbeatStateOf,
  heartbeatStates,
} from '../../../lib/engine/log/heartbeat-timeout.ts';
import { type DurationMs, after, days, durationMs, hours, instant, minutes, seconds } from '../../../lib/engine/time.ts';
import { type NodeTraits, awaits, calls, failed, graph, completesAtOnce, sleepsUntil, threeAttempts } from '../graph-builder.ts';
import { GraphRunFixture, dawn, foldOf, refOf, started } from '../graph-run-fixture.ts';

const later = (wait: DurationMs) => after(dawn, wait);
const heartbeatOf = (id: string, wait: DurationMs, resends = 0): Heartbeat => ({
  node: nodeKey(refOf(id)),
  at: later(wait),
  resends,
});

const kindAt = (play: GraphRunFixture, id: string, wait: DurationMs, last?: Heartbeat): string => {
  const node = play.open().find((open) => open.nodeId === id);
  return node === undefined ? 'not open' : heartbeatStateOf(node, last, later(wait)).kind;
};

const queued = () => started(graph({ edges: ['start -> a'], nodes: { start: completesAtOnce } }));
const running = () => {
  const play = queued();
  play.decide(play.started('a'));
  return play;
};
const sleeping = (wait: DurationMs) =>
  started(graph({ edges: ['start -> a'], nodes: { start: completesAtOnce, a: { pure: sleepsUntil(later(wait)) } } }), {
    deadlineAt: later(days(365)),
  });

test.each([
  ['a queued node', queued],
  ['a running node', running],
])('%s times out 100 s after its dispatch, not before', (_what, play) => {
  expect(kindAt(play(), 'a', durationMs(99_999))).toBe('within_timeout');
  expect(kindAt(play(), 'a', seconds(100))).toBe('timed_out');
});

test.each([
  [0, 100],
  [1, 200],
  [2, 400],
  [5, 3_200],
  [6, 3_600],
  [40, 3_600],
])('after %i resends the timeout is %i s', (resends, patienceSeconds) => {
  const last = heartbeatOf('a', seconds(10), resends);
  expect(kindAt(queued(), 'a', durationMs((10 + patienceSeconds) * 1_000 - 1), last)).toBe('within_timeout');
  expect(kindAt(queued(), 'a', seconds(10 + patienceSeconds), last)).toBe('timed_out');
});

test('a heartbeat keeps a running node within its timeout', () => {
  expect(kindAt(running(), 'a', hours(3), heartbeatOf('a', durationMs(3 * 3_600_000 - 99_999)))).toBe('within_timeout');
  expect(kindAt(running(), 'a', hours(3), heartbeatOf('a', durationMs(3 * 3_600_000 - 100_000)))).toBe('timed_out');
});

test('a heartbeat from before the dispatch is ignored', () => {
  const play = started(graph({ edges: ['start -> a'], nodes: { start: completesAtOnce, a: { retry: threeAttempts } } }));
  play.advanceTime(hours(1));
  play.ends('a', failed('timeout'));
  const old = heartbeatOf('a', minutes(59), 5);
  expect(kindAt(play, 'a', hours(1))).toBe('sleeping');
  expect(kindAt(play, 'a', durationMs(3_600_000 + 1_000 + 99_999), old)).toBe('within_timeout');
  expect(kindAt(play, 'a', durationMs(3_600_000 + 1_000 + 100_000), old)).toBe('timed_out');
});

test('a sleeper is sleeping until its time, then within the grace of its timer, then timed out', () => {
  const play = sleeping(days(300));
  const woken = 300 * 86_400_000;
  expect(kindAt(play, 'a', days(299))).toBe('sleeping');
  expect(kindAt(play, 'a', durationMs(woken - 1))).toBe('sleeping');
  expect(kindAt(play, 'a', durationMs(woken))).toBe('within_timeout');
  expect(kindAt(play, 'a', durationMs(woken + 59_999))).toBe('within_timeout');
  expect(kindAt(play, 'a', durationMs(woken + 60_000))).toBe('timed_out');
  expect(kindAt(play, 'a', durationMs(woken + 60_000), heartbeatOf('a', durationMs(woken + 1), 1))).toBe('within_timeout');
});

test('a run with a later start does not time out before it', () => {
  const play = new GraphRunFixture(graph({ edges: ['start -> a'], nodes: { start: completesAtOnce } }));
  play.start({}, later(days(2)));
  expect(kindAt(play, 'start', days(1))).toBe('sleeping');
  expect(kindAt(play, 'start', durationMs(2 * 86_400_000 + 99_999))).toBe('within_timeout');
  expect(kindAt(play, 'start', durationMs(2 * 86_400_000 + 100_000))).toBe('timed_out');
  expect(nextCheck(play.state, later(days(7)), dawn)).toBe(later(durationMs(2 * 86_400_000 + 60_000)));
});

test('a busy branch does not hide a stuck one', () => {
  const play = started(graph({ edges: ['start -> busy', 'start -> dead'], nodes: { start: completesAtOnce } }));
  const found = heartbeatStates(play.state, [heartbeatOf('busy', seconds(500))], later(seconds(520)));
  expect(found.map(([key, { kind }]) => [key, kind])).toEqual([
    ['busy', 'within_timeout'],
    ['dead', 'timed_out'],
  ]);
});

test('a slow node after a sleep is evaluated from its own dispatch', () => {
  const play = started(
    graph({ edges: ['start -> nap -> slow'], nodes: { start: completesAtOnce, nap: { pure: sleepsUntil(later(hours(2))) } } }),
  );
  play.advanceTime(hours(2));
  play.decide(play.woken('nap'));
  expect(kindAt(play, 'slow', durationMs(2 * 3_600_000 + 90_000))).toBe('within_timeout');
});

test('the sweep checks again in two minutes while a node is working', () => {
  expect(nextCheck(queued().state, later(days(7)), dawn)).toBe(later(minutes(2)));
  expect(nextCheck(running().state, later(days(7)), later(hours(1)))).toBe(later(minutes(62)));
});

test('the sweep checks a sleeper a minute after its time', () => {
  expect(nextCheck(sleeping(days(3)).state, later(days(7)), later(days(1)))).toBe(later(durationMs(3 * 86_400_000 + 60_000)));
  expect(nextCheck(sleeping(days(3)).state, later(days(7)), later(days(4)))).toBe(later(durationMs(4 * 86_400_000 + 120_000)));
});

test('the sweep checks at the earliest due time, some minutes before the deadline, and at the deadline', () => {
  const play = started(
    graph({
      edges: ['start -> nap', 'start -> work'],
      nodes: { start: completesAtOnce, nap: { pure: sleepsUntil(later(seconds(30))) } },
    }),
  );
  expect(nextCheck(play.state, later(days(7)), dawn)).toBe(later(seconds(90)));
  expect(nextCheck(play.state, later(seconds(45)), dawn)).toBe(later(seconds(45)));
  const paused = sleeping(days(3)).state;
  expect(nextCheck(paused, later(days(2)), dawn)).toBe(later(durationMs(days(2) - minutes(4))));
  expect(nextCheck(paused, later(days(2)), later(durationMs(days(2) - minutes(4) - 1)))).toBe(
    later(durationMs(days(2) - minutes(4))),
  );
  expect(nextCheck(paused, later(days(2)), later(durationMs(days(2) - minutes(4))))).toBe(later(days(2)));
});

test('a delayed retry is checked a minute after its time', () => {
  const retry = { ...threeAttempts, backoffMs: minutes(30), maxBackoffMs: minutes(30) };
  const play = started(graph({ nodes: { a: { retry } } }));
  play.ends('a', failed());
  expect(nextCheck(play.state, later(days(7)), dawn)).toBe(later(minutes(31)));
});

test('a minute contains its first moment and not that of the next one', () => {
  expect([0, 59_999, 60_000].map((moment) => minuteOf(instant(moment)))).toEqual([0, 0, 1]);
});

test('an ended run has no heartbeat states', () => {
  const play = queued();
  play.decide({ kind: 'cancel-requested' });
  expect(heartbeatStates(play.state, [], later(days(1)))).toEqual([]);
  expect(kindAt(play, 'a', seconds(0))).toBe('not open');
});

const only = (traits: NodeTraits) => started(graph({ nodes: { a: traits } }), { deadlineAt: later(days(365)) });
const untilTen = { expiresAt: later(minutes(10)) };
const waits: readonly [string, (expires: boolean) => GraphRunFixture][] = [
  ['a wait for a signal', (expires) => only({ pure: awaits(expires ? untilTen : {}) })],
  ['a wait for a child', (expires) => only({ pure: calls(expires ? untilTen : {}) })],
];

test.each(waits)('%s without an end never times out', (_what, waiting) => {
  expect(kindAt(waiting(false), 'a', days(364))).toBe('awaiting');
});

test.each(waits)('%s with an end has the grace of its timer from then on', (_what, waiting) => {
  const play = waiting(true);
  expect(kindAt(play, 'a', durationMs(599_999))).toBe('awaiting');
  expect(kindAt(play, 'a', durationMs(600_000))).toBe('within_timeout');
  expect(kindAt(play, 'a', durationMs(659_999))).toBe('within_timeout');
  expect(kindAt(play, 'a', durationMs(660_000))).toBe('timed_out');
});

test.each(waits)(
  '%s is checked in ten minutes, less often the longer it lasts, and at least every six hours',
  (_what, waiting) => {
    const { state } = waiting(false);
    const checkInterval = (wait: DurationMs) => nextCheck(state, later(days(365)), later(wait)) - later(wait);
    expect([seconds(0), minutes(10), hours(2), hours(6), days(3)].map(checkInterval)).toEqual([
      minutes(10),
      minutes(10),
      hours(2),
      hours(6),
      hours(6),
    ]);
  },
);

test.each(waits)('%s with an end is checked a minute after it, if that is sooner', (_what, waiting) => {
  const { state } = waiting(true);
  expect(nextCheck(state, later(days(7)), later(minutes(9)))).toBe(later(minutes(11)));
  expect(nextCheck(state, later(days(7)), later(minutes(10)))).toBe(later(minutes(12)));
});

test.each(waits)(
  '%s has been checked recently for 100 s, longer the longer it lasts, up to six hours, and earlier attempts do not count',
  (_what, waiting) => {
    const play = waiting(false);
    const [wait] = play.open();
    if (wait === undefined) throw new Error('no node is open');
    const stateOfWait = (last: Heartbeat, at: DurationMs) => heartbeatStateOf(wait, last, later(at));
    expect(stateOfWait(heartbeatOf('a', seconds(10)), durationMs(109_999))).toMatchObject({
      kind: 'awaiting',
      wasCheckedRecently: true,
    });
    expect(stateOfWait(heartbeatOf('a', seconds(10)), seconds(110))).toMatchObject({
      kind: 'awaiting',
      wasCheckedRecently: false,
    });
    expect(stateOfWait(heartbeatOf('a', seconds(200)), durationMs(399_999))).toMatchObject({ wasCheckedRecently: true });
    expect(stateOfWait(heartbeatOf('a', seconds(200)), seconds(400))).toMatchObject({ wasCheckedRecently: false });
    expect(stateOfWait(heartbeatOf('a', hours(9)), durationMs(15 * 3_600_000 - 1))).toMatchObject({ wasCheckedRecently: true });
    expect(stateOfWait(heartbeatOf('a', hours(9)), hours(15))).toMatchObject({ wasCheckedRecently: false });
    expect(stateOfWait({ ...heartbeatOf('a', seconds(0)), at: instant(dawn - 1) }, seconds(1))).toMatchObject({
      kind: 'awaiting',
      wasCheckedRecently: false,
    });
  },
);

test('a sent recheck is pending for 50 s, and no node’s heartbeat counts as one', () => {
  const [left, node] = [{ node: recheckKey, at: dawn, resends: 0 }, heartbeatOf('a', seconds(0))];
  expect([seconds(0), durationMs(49_999), seconds(50)].map((at) => isRecheckPending([node, left], later(at)))).toEqual([
    true,
    true,
    false,
  ]);
  expect(isRecheckPending([node], dawn)).toBe(false);
});

const looping = () =>
  started(graph({ edges: ['each/loop -> work'], nodes: { each: { loop: { over: [1, 2], delayMs: minutes(5) } } } }));

test('a loop with open iterations is delegated to them, however long they take, and needs no check of its own', () => {
  const play = looping();
  expect(kindAt(play, 'each', days(300))).toBe('delegated');
  play.decide({ kind: 'node-started', node: refOf('work@each[0]'), attempt: attempt(1), startedAt: dawn });
  expect(nextCheck(play.state, later(days(7)), later(hours(1)))).toBe(later(minutes(62)));
});

test('a paused loop is sleeping until its time, and checked a minute later', () => {
  const play = looping();
  play.ends('work@each[0]');
  expect(kindAt(play, 'each', durationMs(299_999))).toBe('sleeping');
  expect(kindAt(play, 'each', durationMs(300_000))).toBe('within_timeout');
  expect(kindAt(play, 'each', durationMs(360_000))).toBe('timed_out');
  expect(nextCheck(play.state, later(days(7)), dawn)).toBe(later(minutes(6)));
});

test('the timer of a resent wait has the timeout of the resend', () => {
  const play = sleeping(minutes(10));
  const again = heartbeatOf('a', minutes(11), 1);
  expect(kindAt(play, 'a', durationMs(860_000 - 1), again)).toBe('within_timeout');
  expect(kindAt(play, 'a', durationMs(860_000), again)).toBe('timed_out');
});

test('a heartbeat of the very moment of the dispatch counts', () => {
  expect(kindAt(queued(), 'a', seconds(100), heartbeatOf('a', seconds(0), 1))).toBe('within_timeout');
  expect(kindAt(queued(), 'a', seconds(200), heartbeatOf('a', seconds(0), 1))).toBe('timed_out');
});

const logOf = (...events: readonly RunEvent[]) =>
  foldOf([{ number: commitNo(1), firstEventId: eventId(1), events, at: dawn, by: 'test', nonce: nonce('n') }]);
const dispatched = (key: string, kind: 'function' | 'workflow_task'): RunEvent => ({
  type: 'NODE_DISPATCHED',
  ...refOf(key),
  attempt: attempt(1),
  via: 'queue',
  wave: 0,
  step: { kind, key },
});
const taskEnded: RunEvent = {
  type: 'SLEEP_STARTED',
  ...refOf('nap'),
  attempt: attempt(1),
  wakeAt: later(hours(1)),
  output: inline(null),
  step: { kind: 'sleep', key: 'nap' },
};

test('a working step is delegated to the workflow task; the task and a sleeping step are evaluated themselves', () => {
  const state = logOf(dispatched('workflow_task', 'workflow_task'), dispatched('charge', 'function'), taskEnded);
  const found = heartbeatStates(state, [], later(hours(2)));
  expect(found.map(([key, { kind }]) => [key, kind])).toEqual([
    ['workflow_task', 'timed_out'],
    ['charge', 'delegated'],
    ['nap', 'timed_out'],
  ]);
});

test('a queued workflow task stays within its timeout while another one sends heartbeats', () => {
  const state = logOf(dispatched('first', 'workflow_task'), dispatched('second', 'workflow_task'));
  const kindsAt = (wait: DurationMs, ...signs: readonly Heartbeat[]) =>
    heartbeatStates(state, signs, later(wait)).map(([, { kind }]) => kind);
  expect(kindsAt(seconds(150), heartbeatOf('second', seconds(120)))).toEqual(['within_timeout', 'within_timeout']);
  expect(kindsAt(seconds(230), heartbeatOf('second', seconds(120)))).toEqual(['timed_out', 'timed_out']);
  // A resend is not a heartbeat of a worker.
  expect(kindsAt(seconds(150), heartbeatOf('second', seconds(120), 1))).toEqual(['timed_out', 'within_timeout']);
});

test('a queued workflow task keeps its own resends and a later heartbeat', () => {
  const state = logOf(dispatched('first', 'workflow_task'), dispatched('second', 'workflow_task'));
  const at = (wait: DurationMs, ...signs: readonly Heartbeat[]) =>
    heartbeatStates(state, signs, later(wait)).map(([, found]) => found);
  const [again, heartbeat] = [heartbeatOf('first', seconds(100), 1), heartbeatOf('second', seconds(120))];
  expect(at(seconds(319), again, heartbeat)[0]).toEqual({ kind: 'within_timeout' });
  expect(at(seconds(320), again, heartbeat)[0]).toMatchObject({ kind: 'timed_out', resends: 1 });
  const sentLater = heartbeatOf('first', seconds(150), 1);
  expect(at(seconds(349), sentLater, heartbeat)[0]).toEqual({ kind: 'within_timeout' });
  expect(at(seconds(350), sentLater, heartbeat)[0]).toMatchObject({ kind: 'timed_out', resends: 1 });
  // The later of two heartbeats counts for both tasks, in any order.
  const other = heartbeatOf('first', seconds(200));
  for (const signs of [
    [heartbeat, other],
    [other, heartbeat],
  ])
    expect(at(seconds(299), ...signs)).toEqual([{ kind: 'within_timeout' }, { kind: 'within_timeout' }]);
});

test('a queued workflow task has neither the resends nor the lost deliveries of another one', () => {
  const state = logOf(dispatched('first', 'workflow_task'), dispatched('second', 'workflow_task'));
  const at = later(seconds(120));
  const lost = [1, 2, 3].map((number) => ({ begunAt: dawn, lastHeartbeatAt: dawn, noticedAt: later(seconds(number)) }));
  const begun = { at: later(seconds(110)), lastHeartbeatAt: at, endedSteps: 0, resends: 5 };
  const heartbeat: Heartbeat = { node: nodeKey(refOf('first')), at, resends: 5, deliveries: { begun, lost } };
  const found = (wait: DurationMs) => heartbeatStates(state, [heartbeat], later(wait))[1];
  expect(found(seconds(219))).toEqual(['second', { kind: 'within_timeout' }]);
  expect(found(seconds(220))).toEqual([
    'second',
    expect.objectContaining({ kind: 'timed_out', resends: 0, heartbeat: { node: 'second', at, resends: 0 } }),
  ]);
});

/** The sweep's next check of a run with a deadline in seven days. */
const beforeDeadline = later(durationMs(days(7) - minutes(4)));

test('a working step needs no check of its own; a workflow task and a sleeping step do', () => {
  const nextCheckOf = (...events: readonly RunEvent[]) => nextCheck(logOf(...events), later(days(7)), dawn);
  expect(nextCheckOf(dispatched('charge', 'function'))).toBe(beforeDeadline);
  expect(nextCheckOf(dispatched('charge', 'function'), taskEnded)).toBe(later(minutes(61)));
  expect(nextCheckOf(dispatched('charge', 'function'), dispatched('workflow_task', 'workflow_task'), taskEnded)).toBe(
    later(minutes(2)),
  );
});

test('a run that waits for a slot is checked in two to ten minutes; one that has a slot, or has ended, is not', () => {
  const waiting: RunEvent = { type: 'SLOT_AWAITED', slots: 3 };
  const checkInterval = (wait: DurationMs) => nextCheck(logOf(waiting), later(days(7)), later(wait)) - later(wait);
  expect([seconds(0), minutes(2), minutes(5), minutes(10), hours(3)].map(checkInterval)).toEqual([
    minutes(2),
    minutes(2),
    minutes(5),
    minutes(10),
    minutes(10),
  ]);
  expect(nextCheck(logOf(waiting, { type: 'SLOT_TAKEN', slot: 0 }), later(days(7)), dawn)).toBe(beforeDeadline);
  expect(nextCheck(logOf(waiting, { type: 'RUN_CANCELLED' }), later(days(7)), dawn)).toBe(beforeDeadline);
});

test('a run with a later start that needs a slot is checked a minute after its start, and from then on like others', () => {
  const state = logOf({ type: 'SLOT_AWAITED', slots: 3, notBefore: later(hours(1)) });
  const nextCheckOf = (wait: DurationMs) => nextCheck(state, later(days(7)), later(wait));
  expect(nextCheckOf(seconds(0))).toBe(later(minutes(61)));
  expect(nextCheckOf(durationMs(3_599_999))).toBe(later(minutes(61)));
  expect(nextCheckOf(hours(1))).toBe(later(minutes(62)));
  expect(nextCheckOf(minutes(65))).toBe(later(minutes(70)));
});
