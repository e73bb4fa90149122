/** Time and the world outside: sleeps, deadlines, signals, wakes, resumptions and cancels. */
import { expect } from 'vitest';
import { hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { type Topology, done, lasting } from '../topology.ts';

const nap = (delayMinutes: number) => ({ type: 'delay', delayMinutes });

export const time: readonly Topology[] = [
  {
    name: 'a-day-of-sleep',
    says: 'A delay of 24 hours is kept by a timer, and sweeps meanwhile change nothing.',
    edges: ['start -> nap -> a -> end'],
    nodes: { nap: nap(1_440) },
    outside: async ({ start, pass, sweep, finish }) => {
      await start();
      for (const wait of [3, 10, 10]) {
        await pass(minutes(wait));
        expect((await sweep()).mended).toBe(0);
      }
      await finish();
    },
    holds: ({ status, of }) =>
      expect([status, of('node.completed', 'nap').length, of('run.recovered').length]).toEqual(['completed', 1, 0]),
  },
  {
    name: 'sleep-past-the-deadline',
    says: 'A sleep that would end after the deadline of the run is refused when it begins.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    options: { deadlineSeconds: 600 },
    holds: ({ status, of }) => {
      expect(status).toBe('failed');
      expect(of('node.failed', 'nap')).toMatchObject([{ failure: { cause: 'deadline', code: 'sleep_past_deadline' } }]);
    },
  },
  {
    name: 'deadline-in-a-sleep',
    says: 'A run whose deadline passes while it sleeps and nobody wakes it is ended by the sweep as timed out.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(9) },
    options: { deadlineSeconds: 600 },
    outside: async ({ start, settle, lose, idle, sweep, finish }) => {
      await start();
      await settle();
      await lose();
      await idle(minutes(12));
      await sweep();
      await finish();
    },
    holds: ({ status, events, statusOf }) => {
      expect([status, events.at(-1)?.type, statusOf('nap')]).toEqual(['failed', 'run.timed_out', 'cancelled']);
    },
  },
  {
    name: 'deadline-in-a-wait',
    says: 'A run that waits for a signal which never comes is ended at its deadline.',
    edges: ['start -> wait -> a'],
    nodes: { wait: { type: 'signal', name: 'paid' } },
    options: { deadlineSeconds: 3_600 },
    outside: async ({ start, pass, sweep, finish }) => {
      await start();
      for (let quarter = 0; quarter < 8; quarter += 1) {
        await pass(minutes(8));
        await sweep();
      }
      await finish();
    },
    holds: ({ status, of }) => {
      expect(status).toBe('failed');
      expect(of('run.timed_out')).toMatchObject([{ error: { code: 'deadline_exceeded' } }]);
    },
  },
  {
    name: 'timers-that-come-early',
    says: 'A wake, an expiry and a further attempt that come before their time wait again, and come when it is time.',
    edges: ['start -> nap -> join', 'start -> wait -> late', 'wait/expired -> join', 'start -> a -> join'],
    nodes: { nap: nap(60), wait: { type: 'signal', name: 'paid', expiresInSeconds: 600, onExpiry: 'continue' } },
    replies: { a: [{ kind: 'failed', failure: { cause: 'error', message: 'on purpose' } }, done('a')] },
    outside: async ({ start, settle, hurry, finish }) => {
      await start();
      await settle();
      await hurry();
      await hurry();
      await finish();
    },
    holds: ({ of, events, runsOf }) => {
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
    says: 'A node that is woken goes on at once, and its timer changes nothing when it comes.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    outside: async ({ start, pass, wake, finish }) => {
      await start();
      await pass(minutes(10));
      expect(await wake('nap')).toEqual(['nap']);
      await finish();
    },
    holds: ({ of, runsOf }) =>
      expect([of('node.woken').length, of('node.completed', 'nap').length, runsOf('a')]).toEqual([1, 1, 1]),
  },
  {
    name: 'wake-one-of-two',
    says: 'Only the node that is named is woken, and the join waits for the other.',
    edges: ['start -> one -> join', 'start -> two -> join'],
    nodes: { one: nap(10), two: nap(20) },
    outside: async ({ start, settle, wake, finish }) => {
      await start();
      await settle();
      expect(await wake('two', 'join')).toEqual(['two']);
      await finish();
    },
    holds: ({ of, runsOf }) => {
      expect(of('node.completed').map(({ nodeId }) => nodeId)).toEqual(['start', 'two', 'one', 'join']);
      expect(runsOf('join')).toBe(1);
    },
  },
  {
    name: 'wake-is-no-signal',
    says: 'A wake of everything wakes what sleeps, and a wait for a signal goes on.',
    edges: ['start -> nap -> join', 'start -> wait -> join'],
    nodes: { nap: nap(10), wait: { type: 'signal', name: 'paid' } },
    outside: async ({ start, settle, wake, send, finish }) => {
      await start();
      expect(await wake()).toEqual(['nap']);
      await settle();
      await send('paid', true);
      await finish();
    },
    holds: ({ of, status }) => expect([of('node.woken').map(({ nodeId }) => nodeId), status]).toEqual([['nap'], 'completed']),
  },
  {
    name: 'resume',
    says: 'A resumption is told with its reason, and wakes what sleeps.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    outside: async ({ start, settle, resume, finish }) => {
      await start();
      await settle();
      await resume('the shop is open');
      await finish();
    },
    holds: ({ of, status }) =>
      expect([of('run.resumed'), of('node.woken').length, status]).toEqual([[{ reason: 'the shop is open' }], 1, 'completed']),
  },
  {
    name: 'cancel-in-a-sleep',
    says: 'A run that sleeps is cancelled, and its timer changes nothing when it comes.',
    edges: ['start -> nap -> a'],
    nodes: { nap: nap(60) },
    outside: async ({ start, settle, cancel, finish }) => {
      await start();
      await settle();
      expect(await cancel()).toEqual({ kind: 'cancelled' });
      expect(await cancel()).toEqual({ kind: 'cancelled' });
      await finish();
    },
    holds: ({ status, statusOf, of }) =>
      expect([status, statusOf('nap'), of('run.cancelled').length]).toEqual(['cancelled', 'cancelled', 1]),
  },
  {
    name: 'cancel-in-a-wait',
    says: 'A run that waits for a signal is cancelled, and a signal that comes then reaches nobody.',
    edges: ['start -> wait -> a'],
    nodes: { wait: { type: 'signal', name: 'paid', correlation: 'order-1' } },
    outside: async ({ start, settle, cancel, send, finish }) => {
      await start();
      await settle();
      await cancel();
      expect(await send('paid', 1, { correlation: 'order-1' })).toEqual({ isDelivered: false });
      await finish();
    },
    holds: ({ status, of }) => expect([status, of('signal.received').length]).toEqual(['cancelled', 0]),
  },
  {
    name: 'cancel-before-anything',
    says: 'A run that is cancelled before its first job is taken executes nothing.',
    edges: ['start -> a -> b'],
    outside: async ({ start, cancel, finish }) => {
      await start();
      await cancel();
      await finish();
    },
    holds: ({ status, attempts }) => expect([status, attempts]).toEqual(['cancelled', []]),
  },
  {
    name: 'cancel-between-retries',
    says: 'A run that is cancelled while a node waits for its next attempt makes no further attempt.',
    edges: ['start -> a'],
    replies: { a: { kind: 'failed', failure: { cause: 'error', message: 'on purpose' } } },
    outside: async ({ start, settle, cancel, finish }) => {
      await start();
      await settle();
      await cancel();
      await finish();
    },
    holds: ({ status, runsOf }) => expect([status, runsOf('a')]).toEqual(['cancelled', 1]),
  },
  {
    name: 'cancel-that-comes-too-late',
    says: 'A run that has ended is not cancelled any more.',
    edges: ['start -> a'],
    outside: async ({ start, finish, cancel }) => {
      await start();
      await finish();
      expect(await cancel()).toEqual({ kind: 'run_terminal', status: 'completed' });
    },
    holds: ({ status, of }) => expect([status, of('run.cancelled').length]).toEqual(['completed', 0]),
  },
  {
    name: 'a-long-attempt',
    says: 'A node that works for more than a second is told as started, once.',
    edges: ['start -> a -> b'],
    nodes: { a: { timeoutSeconds: 300 } },
    replies: { a: lasting(seconds(200)) },
    holds: ({ of, status }) => expect([of('node.started', 'a').length, status]).toEqual([1, 'completed']),
  },
  {
    name: 'a-node-that-announces-itself',
    says: 'A request to another service is told as started before it is made.',
    edges: ['start -> ask -> end'],
    nodes: { ask: { type: 'http', url: 'https://example.com/' } },
    replies: { ask: done({ status: 200 }) },
    holds: ({ events }) => {
      const types = events.filter(({ payload }) => payload['nodeId'] === 'ask').map(({ type }) => type);
      expect(types).toEqual(['node.queued', 'node.started', 'node.completed']);
    },
  },
];

export const signals: readonly Topology[] = [
  {
    name: 'signal-after-its-wait',
    says: 'A signal to a run that waits for it ends the wait with what it brings.',
    edges: ['start -> wait', { from: 'wait -> a', targetParamLabel: 'payment', sourceOutputKey: 'payload' }],
    nodes: { wait: { type: 'signal', name: 'paid' } },
    replies: { a: ({ inputs }) => done(inputs) },
    outside: async ({ start, pass, send, finish }) => {
      await start();
      await pass(hours(30));
      expect(await send('paid', { amount: 12 })).toEqual({ isDelivered: true });
      await finish();
    },
    holds: ({ given }) => expect(given('a')).toEqual({ payment: { amount: 12 } }),
  },
  {
    name: 'signal-before-its-wait',
    says: 'A signal to a run that does not wait yet is kept until it does.',
    edges: ['start -> a -> wait -> end'],
    nodes: {
      wait: { type: 'signal', name: 'paid' },
      end: { outputParameters: [{ name: 'got', sourceVariable: '{{ctx.__node_wait.output.payload}}' }] },
    },
    outside: async ({ start, send, finish }) => {
      await start();
      expect(await send('paid', 3)).toEqual({ isDelivered: false });
      await finish();
    },
    holds: ({ output, of }) => expect([output, of('signal.received').length]).toEqual([{ got: 3 }, 1]),
  },
  {
    name: 'signal-expired-by-policy-fail',
    says: 'A wait that is over without a signal fails its node as timed out, and is not tried again.',
    edges: ['start -> wait -> a'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 3_600 } },
    holds: ({ status, of, statusOf }) => {
      expect([status, statusOf('wait'), statusOf('a')]).toEqual(['failed', 'timed_out', 'skipped']);
      expect(of('node.timed_out')).toMatchObject([{ failure: { code: 'signal_expired' } }]);
    },
  },
  {
    name: 'signal-expired-into-an-error-edge',
    says: 'A wait that fails for want of a signal takes its error edge.',
    edges: ['start -> wait -> a', 'wait/error -> rescue'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 5 } },
    holds: ({ status, runsOf }) => expect([status, runsOf('a'), runsOf('rescue')]).toEqual(['completed', 0, 1]),
  },
  {
    name: 'signal-expired-by-policy-continue',
    says: 'A wait that is over without a signal leaves by its own way, with an output that says so.',
    edges: ['start -> wait -> a', 'wait/expired -> b'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 5, onExpiry: 'continue' } },
    holds: ({ status, runsOf, of }) => {
      expect([status, runsOf('a'), runsOf('b')]).toEqual(['completed', 0, 1]);
      expect(of('node.completed', 'wait')).toMatchObject([{ handle: 'expired', output: { value: { signalId: null } } }]);
    },
  },
  {
    name: 'one-signal-two-waits',
    says: 'A signal ends one wait, the one that began first; the other takes the next.',
    edges: ['start -> first', 'start -> a -> second'],
    nodes: {
      first: { type: 'signal', name: 'turn', correlation: 'table' },
      second: { type: 'signal', name: 'turn', correlation: 'table' },
    },
    outside: async ({ start, pass, send, finish }) => {
      await start();
      await pass(seconds(1));
      await send('turn', 1, { correlation: 'table' });
      await pass(seconds(1));
      await send('turn', 2, { correlation: 'table' });
      await finish();
    },
    holds: ({ of }) => expect(of('signal.received').map(({ nodeId }) => nodeId)).toEqual(['first', 'second']),
  },
  {
    name: 'signal-by-what-the-run-is-about',
    says: 'A wait can name what it is about by the run’s input; a signal about something else does not end it.',
    edges: ['start -> wait -> end'],
    nodes: { wait: { type: 'signal', name: 'paid', correlation: 'order-{{ctx.input.order}}' } },
    input: { order: 8 },
    outside: async ({ start, settle, send, finish }) => {
      await start();
      await settle();
      expect(await send('paid', 'no', { correlation: 'order-9' })).toEqual({ isDelivered: false });
      expect(await send('paid', 'yes', { correlation: 'order-8' })).toEqual({ isDelivered: true });
      await finish();
    },
    holds: ({ of }) => expect(of('node.completed', 'wait')).toMatchObject([{ output: { value: { payload: 'yes' } } }]),
  },
];
