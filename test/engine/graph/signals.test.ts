/** A node that awaits a signal continues once: with a signal, or with the expiry of its wait. */
import { expect, test } from 'vitest';
import { inline } from '../../../lib/engine/json.ts';
import { attentionOf } from '../../../lib/engine/log/open-nodes.ts';
import { nextCheck, heartbeatStates } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { restoreFold, storeFold } from '../../../lib/engine/log/stored-fold.ts';
import { after, days, hours, iso, minutes, seconds } from '../../../lib/engine/time.ts';
import { type NodeTraits, awaits, graph, ms, completesAtOnce, threeAttempts } from '../graph-builder.ts';
import { type Settings, dawn, nth, plain, started, theRun, describeEvents } from '../graph-run-fixture.ts';

const waiting = (traits: Partial<Extract<ReturnType<typeof awaits>, { kind: 'awaiting' }>> = {}, settings: Settings = {}) =>
  started(
    graph({
      nodes: { start: completesAtOnce, wait: { pure: awaits(traits), outputVariable: 'approval', retry: threeAttempts } },
      edges: ['start -> wait -> b', 'wait/expired -> late', 'wait/error -> rescue'],
    }),
    settings,
  );
const inTwoHours = { expiresAt: after(dawn, hours(2)) };

test('a wait begins in the commit that makes the node ready, with the run id as default correlation', () => {
  const play = waiting();
  expect(describeEvents(play.commits[0]?.events ?? [])).toEqual([
    'INPUT_SET',
    'RUN_STARTED',
    'NODE_COMPLETED start',
    'SIGNAL_AWAITED wait',
  ]);
  expect(play.node('wait')).toMatchObject({
    status: 'waiting',
    for: 'signal',
    name: 'paid',
    correlation: theRun,
    dispatchedIn: 1,
  });
  expect([play.statusOf('b'), play.status]).toEqual(['pending', 'pending']);
  expect(waiting({ correlation: 'order-7' }).node('wait')).toMatchObject({ correlation: 'order-7' });
});

test('a signal completes the node with its payload, in one commit, and the next node is dispatched', () => {
  const play = waiting({ correlation: 'order-7' });
  play.advanceTime(hours(1));
  expect(describeEvents(play.decide(play.signalled('wait', { amount: 3 })))).toEqual([
    'RUN_STATUS_CHANGED',
    'SIGNAL_RECEIVED wait',
    'NODE_COMPLETED wait',
    'NODE_SKIPPED late',
    'NODE_SKIPPED rescue',
    'NODE_DISPATCHED b',
  ]);
  expect(play.node('wait')).toMatchObject({ status: 'completed', signalId: 's1', startedAt: dawn, endedAt: play.now });
  expect(play.inputOf('b').context.get('approval')).toEqual({
    signalId: 's1',
    name: 'paid',
    correlation: 'order-7',
    payload: { amount: 3 },
    receivedAt: iso(play.now),
  });
});

test('a second signal, a duplicate, or a signal for another attempt changes nothing', () => {
  const play = waiting();
  expect(play.decide({ ...play.signalled('wait'), attempt: nth(2) })).toEqual([]);
  const signal = play.signalled('wait');
  play.decide(signal);
  expect(play.decide(signal)).toEqual([]);
  expect(play.decide(play.signalled('wait', null, 's2'))).toEqual([]);
  expect(play.node('wait')).toMatchObject({ signalId: 's1' });
});

test('of two signals in one decision the node receives the first', () => {
  const play = waiting();
  play.decide(play.signalled('wait', 1, 's1'), play.signalled('wait', 2, 's2'));
  expect(play.eventsOf('SIGNAL_RECEIVED').map(({ signalId }) => signalId)).toEqual(['s1']);
});

test('a signal for a node that awaits none changes nothing', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b'] }));
  expect(play.decide(play.signalled('a'), play.signalled('b'))).toEqual([]);
});

test('neither a wake-up, a resume request nor a result ends a wait for a signal', () => {
  const play = waiting();
  expect(play.decide({ kind: 'wake-requested' }, play.ended('wait'), play.started('wait'))).toEqual([]);
  expect(describeEvents(play.decide({ kind: 'resume-requested' }))).toEqual(['RUN_RESUMED']);
  expect(play.statusOf('wait')).toBe('waiting');
});

test('a wait whose deliveries are lost repeatedly fails as lost', () => {
  const play = waiting();
  play.decide(play.lost('wait'));
  expect(play.node('wait')).toMatchObject({ status: 'failed', failure: { cause: 'lost' } });
});

test('an expired wait fails the node as timed out, is not retried, and its error edge continues', () => {
  const play = waiting(inTwoHours);
  play.advanceTime(ms(hours(2) - 1));
  expect(play.decide(play.woken('wait'))).toEqual([]);
  play.advanceTime(ms(1));
  play.decide(play.woken('wait'));
  expect(play.node('wait')).toMatchObject({ status: 'timed_out', failure: { cause: 'timeout', code: 'signal_expired' } });
  expect(play.statuses('b', 'late', 'rescue')).toEqual(['skipped', 'skipped', 'queued']);
  expect(play.decide(play.signalled('wait'))).toEqual([]);
});

test('or continues by its own handle, with the same keys and null', () => {
  const play = waiting({ ...inTwoHours, expiryHandle: 'expired' });
  play.advanceTime(hours(2));
  play.decide(play.woken('wait'));
  expect(play.statuses('wait', 'b', 'late', 'rescue')).toEqual(['completed', 'skipped', 'queued', 'skipped']);
  expect(play.inputOf('late').context.get('approval')).toEqual({
    signalId: null,
    name: 'paid',
    correlation: theRun,
    payload: null,
    receivedAt: null,
  });
  expect(play.decide(play.signalled('wait'))).toEqual([]);
});

test('an expired wait of a node with fail_workflow ends the run', () => {
  const traits: NodeTraits = { pure: awaits(inTwoHours), errorHandling: 'fail_workflow' };
  const play = started(graph({ nodes: { start: completesAtOnce, wait: traits }, edges: ['start -> wait', 'start -> other'] }));
  play.advanceTime(hours(2));
  play.decide(play.woken('wait'));
  expect(play.error).toMatchObject({ cause: 'timeout', code: 'signal_expired', details: { nodeId: 'wait' } });
});

test.each([
  [hours(2), true],
  [ms(hours(2) - 1), false],
])('with the deadline %i ms away, the wait expires by itself: %s', (left, ends) => {
  const play = waiting({ ...inTwoHours, expiryHandle: 'expired' }, { deadlineAt: after(dawn, left) });
  expect(play.node('wait')).toMatchObject({ status: 'waiting', for: 'signal' });
  expect(Object.keys(play.node('wait') ?? {}).filter((key) => key.startsWith('expir'))).toEqual(
    ends ? ['expiresAt', 'expiryHandle'] : [],
  );
});

test('the deadline and a cancel end a run that awaits a signal', () => {
  const late = waiting();
  late.advanceTime(days(7));
  late.decide({ kind: 'deadline-passed' });
  expect([late.status, late.statusOf('wait'), late.error?.code]).toEqual(['failed', 'cancelled', 'deadline_exceeded']);
  expect(late.decide(late.signalled('wait'))).toEqual([]);
  const cancelled = waiting();
  cancelled.decide({ kind: 'cancel-requested' });
  expect([cancelled.status, cancelled.decide(cancelled.signalled('wait'))]).toEqual(['cancelled', []]);
});

test('a worker’s node can begin to wait too', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b'] }));
  play.ends('a', awaits({ correlation: 'c' }));
  expect(play.node('a')).toMatchObject({ status: 'waiting', for: 'signal', attempt: 1, dispatchedIn: 2 });
  play.decide(play.signalled('a', 'yes'));
  expect(play.statuses('a', 'b')).toEqual(['completed', 'queued']);
});

test('a stored fold keeps the wait, and the signal that ended it', () => {
  const play = waiting(inTwoHours);
  expect(plain(restoreFold(storeFold(play.state)))).toEqual(plain(play.state));
  play.decide(play.signalled('wait'));
  expect(plain(restoreFold(storeFold(play.state)))).toEqual(plain(play.state));
});

test('a node that awaits a signal never times out; after its wait has expired, it does', () => {
  const forEver = waiting();
  expect(heartbeatStates(forEver.state, [], after(dawn, days(3)))).toEqual([
    ['wait', { kind: 'awaiting', wait: forEver.node('wait'), wasCheckedRecently: false }],
  ]);
  const play = waiting(inTwoHours);
  const kindAt = (at: typeof dawn) => heartbeatStates(play.state, [], at).map(([, { kind }]) => kind);
  expect(kindAt(after(dawn, ms(hours(2) - 1)))).toEqual(['awaiting']);
  expect(kindAt(after(dawn, hours(2)))).toEqual(['within_timeout']);
  expect(kindAt(after(dawn, ms(hours(2) + seconds(60))))).toEqual(['timed_out']);
});

test('the sweep checks after ten minutes, less often the longer the wait lasts, and a minute after its end', () => {
  const deadline = after(dawn, days(7));
  const lookAfter = (play: ReturnType<typeof waiting>, age: ReturnType<typeof hours>) =>
    nextCheck(play.state, deadline, after(dawn, age)) - dawn - age;
  const forEver = waiting();
  expect(lookAfter(forEver, ms(0))).toBe(minutes(10));
  expect(lookAfter(forEver, hours(1))).toBe(hours(1));
  expect(lookAfter(forEver, hours(48))).toBe(hours(6));
  expect(lookAfter(waiting(inTwoHours), ms(hours(2) - 1_000))).toBe(61_000);
  expect(lookAfter(waiting(inTwoHours), ms(hours(2)))).toBe(minutes(2));
});

test('a run that only awaits a signal is waiting', () => {
  expect(attentionOf(waiting().state, dawn)).toBe('waiting');
});

test('a signal’s payload is stored unchanged', () => {
  const play = waiting();
  play.decide(play.signalled('wait', ['as', { it: 'is' }]));
  expect(play.eventsOf('NODE_COMPLETED').at(-1)?.output).toEqual(
    inline({ signalId: 's1', name: 'paid', correlation: theRun, payload: ['as', { it: 'is' }], receivedAt: iso(dawn) }),
  );
});
