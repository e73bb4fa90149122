/** Time and external requests: delays, deadlines, signals, wakes, resumes and cancels. */
import { expect } from 'vitest';
import { hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { type Topology, finishedWith, takes } from '../topology.ts';

const nap = (delayMinutes: number) => ({ type: 'delay', delayMinutes });

export const time: readonly Topology[] = [
  {
    name: 'a-day-of-sleep',
    description: 'A timer ends a delay of 24 hours, and sweeps in between change nothing.',
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
    description: 'A delay that would end after the run’s deadline fails when it starts.',
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
    description: 'When the timers of a sleeping run are lost, the sweep ends the run as timed out after its deadline.',
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
    description: 'A run that waits for a signal that never arrives ends at its deadline.',
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
    description: 'A wake, an expiry and a retry that arrive early are delayed again and take effect at their due time.',
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
    description: 'A wake ends a delay at once, and the timer of the delay has no effect later.',
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
    description: 'A wake ends only the named delay, and the join waits for the other delay.',
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
    description: 'A wake of the whole run ends its delays, and its wait for a signal continues.',
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
    description: 'A resume reports its reason and ends the delays of the run.',
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
    description: 'A cancel ends a sleeping run, and the timer of the delay has no effect later.',
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
    description: 'A cancel ends a run that waits for a signal, and a later signal is not delivered.',
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
    description: 'A run that is cancelled before a worker takes its first job executes no node that has side effects.',
    edges: ['start -> a -> b'],
    nodes: { a: { type: 'javascript', code: 'return 1', idempotent: false } },
    actions: async ({ start, cancel, finish }) => {
      await start();
      await cancel();
      await finish();
    },
    verify: ({ status, attempts }) => expect([status, attempts]).toEqual(['cancelled', []]),
  },
  {
    name: 'cancel-between-retries',
    description: 'A run that is cancelled while a node waits for its retry makes no further attempt.',
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
    description: 'A cancel of a run that has ended is rejected.',
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
    description: 'A node that runs for more than one second reports its start once.',
    edges: ['start -> a -> b'],
    nodes: { a: { timeoutSeconds: 300 } },
    replies: { a: takes(seconds(200)) },
    verify: ({ of, status }) => expect([of('node.started', 'a').length, status]).toEqual([1, 'completed']),
  },
  {
    name: 'a-node-that-announces-itself',
    description: 'A node reports its start before it sends a request to another service.',
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
    description: 'A signal ends the wait of its run, and the wait outputs the payload.',
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
    description: 'A signal that arrives before its wait is stored until the wait starts.',
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
    description: 'A wait that expires fails its node as timed out, without a retry.',
    edges: ['start -> wait -> a'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 3_600 } },
    verify: ({ status, of, statusOf }) => {
      expect([status, statusOf('wait'), statusOf('a')]).toEqual(['failed', 'timed_out', 'skipped']);
      expect(of('node.timed_out')).toMatchObject([{ failure: { code: 'signal_expired' } }]);
    },
  },
  {
    name: 'signal-expired-into-an-error-edge',
    description: 'A wait that expires and fails takes its error edge.',
    edges: ['start -> wait -> a', 'wait/error -> rescue'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 5 } },
    verify: ({ status, runsOf }) => expect([status, runsOf('a'), runsOf('rescue')]).toEqual(['completed', 0, 1]),
  },
  {
    name: 'signal-expired-by-policy-continue',
    description: 'A wait that expires with the policy continue takes its `expired` branch and outputs that it has no signal.',
    edges: ['start -> wait -> a', 'wait/expired -> b'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 5, onExpiry: 'continue' } },
    verify: ({ status, runsOf, of }) => {
      expect([status, runsOf('a'), runsOf('b')]).toEqual(['completed', 0, 1]);
      expect(of('node.completed', 'wait')).toMatchObject([{ handle: 'expired', output: { value: { signalId: null } } }]);
    },
  },
  {
    name: 'one-signal-two-waits',
    description: 'A signal ends the wait that started first; the next signal ends the other wait.',
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
    description: 'A wait can take its correlation from the run’s input; a signal with another correlation does not end it.',
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
