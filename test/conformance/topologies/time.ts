/** Time and the world outside: sleeps, deadlines, signals, wakes, resumptions and cancels. */
import { expect } from 'vitest';
import { hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { type Topology, finishedWith, takes } from '../topology.ts';

const nap = (delayMinutes: number) => ({ type: 'delay', delayMinutes });

export const time: readonly Topology[] = [
  {
    name: 'a-day-of-sleep',
    description: 'A delay of 24 hours is kept by a timer, and sweeps meanwhile change nothing.',
    edges: ['start -> nap -> a -> end'],
    nodes: { nap: nap(1_440) },
    actions: async ({ start, advanceTime, sweep, finish }) => {
      await start();
      for (const wait of [3, 10, 10]) {
        await advanceTime(minutes(wait));
        expect((await sweep()).recovered).toBe(0);
      }
      await finish();
    },
    verify: ({ status, of }) =>
      expect([status, of('node.completed', 'nap').length, of('run.recovered').length]).toEqual(['completed', 1, 0]),
  },
  {
    name: 'sleep-past-the-deadline',
    description: 'A sleep that would end after the deadline of the run is refused when it begins.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    options: { deadlineSeconds: 600 },
    verify: ({ status, of }) => {
      expect(status).toBe('failed');
      expect(of('node.failed', 'nap')).toMatchObject([{ failure: { cause: 'deadline', code: 'sleep_past_deadline' } }]);
    },
  },
  {
    name: 'deadline-in-a-sleep',
    description: 'A run whose deadline passes while it sleeps and nobody wakes it is ended by the sweep as timed out.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(9) },
    options: { deadlineSeconds: 600 },
    actions: async ({ start, settle, loseMessages, advanceIdle, sweep, finish }) => {
      await start();
      await settle();
      await loseMessages();
      await advanceIdle(minutes(12));
      await sweep();
      await finish();
    },
    verify: ({ status, events, statusOf }) => {
      expect([status, events.at(-1)?.type, statusOf('nap')]).toEqual(['failed', 'run.timed_out', 'cancelled']);
    },
  },
  {
    name: 'deadline-in-a-wait',
    description: 'A run that waits for a signal which never comes is ended at its deadline.',
    edges: ['start -> wait -> a'],
    nodes: { wait: { type: 'signal', name: 'paid' } },
    options: { deadlineSeconds: 3_600 },
    actions: async ({ start, advanceTime, sweep, finish }) => {
      await start();
      for (let quarter = 0; quarter < 8; quarter += 1) {
        await advanceTime(minutes(8));
        await sweep();
      }
      await finish();
    },
    verify: ({ status, of }) => {
      expect(status).toBe('failed');
      expect(of('run.timed_out')).toMatchObject([{ error: { code: 'deadline_exceeded' } }]);
    },
  },
  {
    name: 'timers-that-come-early',
    description: 'A wake, an expiry and a further attempt that come before their time wait again, and come when it is time.',
    edges: ['start -> nap -> join', 'start -> wait -> late', 'wait/expired -> join', 'start -> a -> join'],
    nodes: { nap: nap(60), wait: { type: 'signal', name: 'paid', expiresInSeconds: 600, onExpiry: 'continue' } },
    replies: { a: [{ kind: 'failed', failure: { cause: 'error', message: 'on purpose' } }, finishedWith('a')] },
    actions: async ({ start, settle, deliverTimersEarly, finish }) => {
      await start();
      await settle();
      await deliverTimersEarly();
      await deliverTimersEarly();
      await finish();
    },
    verify: ({ of, events, runsOf }) => {
      expect(of('node.completed').map(({ nodeId }) => nodeId)).toEqual(['start', 'a', 'wait', 'nap', 'join']);
      const begun = Date.parse(events[0]?.timestamp ?? '');
      const endOf = (node: string): number =>
        Date.parse(events.find(({ type, payload }) => type === 'node.completed' && payload['nodeId'] === node)?.timestamp ?? '') -
        begun;
      expect([runsOf('a'), endOf('a'), endOf('wait'), endOf('nap')]).toEqual([2, 1_000, 600_000, 3_600_000]);
    },
  },
  {
    name: 'wake',
    description: 'A node that is woken goes on at once, and its timer changes nothing when it comes.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    actions: async ({ start, advanceTime, wake, finish }) => {
      await start();
      await advanceTime(minutes(10));
      expect(await wake('nap')).toEqual(['nap']);
      await finish();
    },
    verify: ({ of, runsOf }) =>
      expect([of('node.woken').length, of('node.completed', 'nap').length, runsOf('a')]).toEqual([1, 1, 1]),
  },
  {
    name: 'wake-one-of-two',
    description: 'Only the node that is named is woken, and the join waits for the other.',
    edges: ['start -> one -> join', 'start -> two -> join'],
    nodes: { one: nap(10), two: nap(20) },
    actions: async ({ start, settle, wake, finish }) => {
      await start();
      await settle();
      expect(await wake('two', 'join')).toEqual(['two']);
      await finish();
    },
    verify: ({ of, runsOf }) => {
      expect(of('node.completed').map(({ nodeId }) => nodeId)).toEqual(['start', 'two', 'one', 'join']);
      expect(runsOf('join')).toBe(1);
    },
  },
  {
    name: 'wake-is-no-signal',
    description: 'A wake of everything wakes what sleeps, and a wait for a signal goes on.',
    edges: ['start -> nap -> join', 'start -> wait -> join'],
    nodes: { nap: nap(10), wait: { type: 'signal', name: 'paid' } },
    actions: async ({ start, settle, wake, send, finish }) => {
      await start();
      expect(await wake()).toEqual(['nap']);
      await settle();
      await send('paid', true);
      await finish();
    },
    verify: ({ of, status }) => expect([of('node.woken').map(({ nodeId }) => nodeId), status]).toEqual([['nap'], 'completed']),
  },
  {
    name: 'resume',
    description: 'A resumption is told with its reason, and wakes what sleeps.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    actions: async ({ start, settle, resume, finish }) => {
      await start();
      await settle();
      await resume('the shop is open');
      await finish();
    },
    verify: ({ of, status }) =>
      expect([of('run.resumed'), of('node.woken').length, status]).toEqual([[{ reason: 'the shop is open' }], 1, 'completed']),
  },
  {
    name: 'cancel-in-a-sleep',
    description: 'A run that sleeps is cancelled, and its timer changes nothing when it comes.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    actions: async ({ start, settle, cancel, finish }) => {
      await start();
      await settle();
      expect(await cancel()).toEqual({ kind: 'cancelled' });
      expect(await cancel()).toEqual({ kind: 'cancelled' });
      await finish();
    },
    verify: ({ status, statusOf, of }) =>
      expect([status, statusOf('nap'), of('run.cancelled').length]).toEqual(['cancelled', 'cancelled', 1]),
  },
  {
    name: 'cancel-in-a-wait',
    description: 'A run that waits for a signal is cancelled, and a signal that comes then reaches nobody.',
    edges: ['start -> wait -> a'],
    nodes: { wait: { type: 'signal', name: 'paid', correlation: 'order-1' } },
    actions: async ({ start, settle, cancel, send, finish }) => {
      await start();
      await settle();
      await cancel();
      expect(await send('paid', 1, { correlation: 'order-1' })).toEqual({ isDelivered: false });
      await finish();
    },
    verify: ({ status, of }) => expect([status, of('signal.received').length]).toEqual(['cancelled', 0]),
  },
  {
    name: 'cancel-before-anything',
    description: 'A run that is cancelled before its first job is taken executes nothing.',
    edges: ['start -> a -> b'],
    actions: async ({ start, cancel, finish }) => {
      await start();
      await cancel();
      await finish();
    },
    verify: ({ status, attempts }) => expect([status, attempts]).toEqual(['cancelled', []]),
  },
  {
    name: 'cancel-between-retries',
    description: 'A run that is cancelled while a node waits for its next attempt makes no further attempt.',
    edges: ['start -> a'],
    replies: { a: { kind: 'failed', failure: { cause: 'error', message: 'on purpose' } } },
    actions: async ({ start, settle, cancel, finish }) => {
      await start();
      await settle();
      await cancel();
      await finish();
    },
    verify: ({ status, runsOf }) => expect([status, runsOf('a')]).toEqual(['cancelled', 1]),
  },
  {
    name: 'cancel-that-comes-too-late',
    description: 'A run that has ended is not cancelled any more.',
    edges: ['start -> a'],
    actions: async ({ start, finish, cancel }) => {
      await start();
      await finish();
      expect(await cancel()).toEqual({ kind: 'run_terminal', status: 'completed' });
    },
    verify: ({ status, of }) => expect([status, of('run.cancelled').length]).toEqual(['completed', 0]),
  },
  {
    name: 'a-long-attempt',
    description: 'A node that works for more than a second is told as started, once.',
    edges: ['start -> a -> b'],
    nodes: { a: { timeoutSeconds: 300 } },
    replies: { a: takes(seconds(200)) },
    verify: ({ of, status }) => expect([of('node.started', 'a').length, status]).toEqual([1, 'completed']),
  },
  {
    name: 'a-node-that-announces-itself',
    description: 'A request to another service is told as started before it is made.',
    edges: ['start -> ask -> end'],
    nodes: { ask: { type: 'http', url: 'https://example.com/' } },
    replies: { ask: finishedWith({ status: 200 }) },
    verify: ({ events }) => {
      const types = events.filter(({ payload }) => payload['nodeId'] === 'ask').map(({ type }) => type);
      expect(types).toEqual(['node.queued', 'node.started', 'node.completed']);
    },
  },
];

export const signals: readonly Topology[] = [
  {
    name: 'signal-after-its-wait',
    description: 'A signal to a run that waits for it ends the wait with what it brings.',
    edges: ['start -> wait', { from: 'wait -> a', targetParamLabel: 'payment', sourceOutputKey: 'payload' }],
    nodes: { wait: { type: 'signal', name: 'paid' } },
    replies: { a: ({ inputs }) => finishedWith(inputs) },
    actions: async ({ start, advanceTime, send, finish }) => {
      await start();
      await advanceTime(hours(30));
      expect(await send('paid', { amount: 12 })).toEqual({ isDelivered: true });
      await finish();
    },
    verify: ({ inputsOf }) => expect(inputsOf('a')).toEqual({ payment: { amount: 12 } }),
  },
  {
    name: 'signal-before-its-wait',
    description: 'A signal to a run that does not wait yet is kept until it does.',
    edges: ['start -> a -> wait -> end'],
    nodes: {
      wait: { type: 'signal', name: 'paid' },
      end: { outputParameters: [{ name: 'got', sourceVariable: '{{ctx.__node_wait.output.payload}}' }] },
    },
    actions: async ({ start, send, finish }) => {
      await start();
      expect(await send('paid', 3)).toEqual({ isDelivered: false });
      await finish();
    },
    verify: ({ output, of }) => expect([output, of('signal.received').length]).toEqual([{ got: 3 }, 1]),
  },
  {
    name: 'signal-expired-by-policy-fail',
    description: 'A wait that is over without a signal fails its node as timed out, and is not tried again.',
    edges: ['start -> wait -> a'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 3_600 } },
    verify: ({ status, of, statusOf }) => {
      expect([status, statusOf('wait'), statusOf('a')]).toEqual(['failed', 'timed_out', 'skipped']);
      expect(of('node.timed_out')).toMatchObject([{ failure: { code: 'signal_expired' } }]);
    },
  },
  {
    name: 'signal-expired-into-an-error-edge',
    description: 'A wait that fails for want of a signal takes its error edge.',
    edges: ['start -> wait -> a', 'wait/error -> rescue'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 5 } },
    verify: ({ status, runsOf }) => expect([status, runsOf('a'), runsOf('rescue')]).toEqual(['completed', 0, 1]),
  },
  {
    name: 'signal-expired-by-policy-continue',
    description: 'A wait that is over without a signal leaves by its own way, with an output that says so.',
    edges: ['start -> wait -> a', 'wait/expired -> b'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 5, onExpiry: 'continue' } },
    verify: ({ status, runsOf, of }) => {
      expect([status, runsOf('a'), runsOf('b')]).toEqual(['completed', 0, 1]);
      expect(of('node.completed', 'wait')).toMatchObject([{ handle: 'expired', output: { value: { signalId: null } } }]);
    },
  },
  {
    name: 'one-signal-two-waits',
    description: 'A signal ends one wait, the one that began first; the other takes the next.',
    edges: ['start -> first', 'start -> a -> second'],
    nodes: {
      first: { type: 'signal', name: 'turn', correlation: 'table' },
      second: { type: 'signal', name: 'turn', correlation: 'table' },
    },
    actions: async ({ start, advanceTime, send, finish }) => {
      await start();
      await advanceTime(seconds(1));
      await send('turn', 1, { correlation: 'table' });
      await advanceTime(seconds(1));
      await send('turn', 2, { correlation: 'table' });
      await finish();
    },
    verify: ({ of }) => expect(of('signal.received').map(({ nodeId }) => nodeId)).toEqual(['first', 'second']),
  },
  {
    name: 'signal-by-what-the-run-is-about',
    description: 'A wait can name what it is about by the run’s input; a signal about something else does not end it.',
    edges: ['start -> wait -> end'],
    nodes: { wait: { type: 'signal', name: 'paid', correlation: 'order-{{ctx.input.order}}' } },
    input: { order: 8 },
    actions: async ({ start, settle, send, finish }) => {
      await start();
      await settle();
      expect(await send('paid', 'no', { correlation: 'order-9' })).toEqual({ isDelivered: false });
      expect(await send('paid', 'yes', { correlation: 'order-8' })).toEqual({ isDelivered: true });
      await finish();
    },
    verify: ({ of }) => expect(of('node.completed', 'wait')).toMatchObject([{ output: { value: { payload: 'yes' } } }]),
  },
];
