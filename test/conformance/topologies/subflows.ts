/** Subflows: effects of the end of a child run on its parent, and of the parent on its child run. */
import { expect } from 'vitest';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { minutes } from '../../../lib/engine/time.ts';
import type { RunActions } from '../run-actions.ts';
import { type TopologyGraph, type Topology, finishedWith, failedWith, singleAttempt } from '../topology.ts';

const calls = (workflowName: string, config: JsonObject = {}): JsonObject => ({ type: 'subflow', workflowName, ...config });

/** The called workflow: `x`, then an end node. */
const child: TopologyGraph = {
  name: 'child',
  edges: ['begin -> x -> ends'],
  nodes: {
    begin: { type: 'start' },
    ends: { type: 'end', outputParameters: [{ name: 'made', sourceVariable: '{{ctx.input.order}}' }] },
  },
};
const failing: TopologyGraph = { ...child, nodes: { ...child.nodes, x: singleAttempt } };
/** A called workflow that waits for a signal that is never sent. */
const waiting: TopologyGraph = {
  name: 'child',
  edges: ['begin -> w -> ends'],
  nodes: { begin: { type: 'start' }, w: { type: 'signal', name: 'never' } },
};
/** A called workflow whose output is the payload of a signal. */
const answered: TopologyGraph = {
  name: 'child',
  edges: ['begin -> w -> ends'],
  nodes: {
    begin: { type: 'start' },
    w: { type: 'signal', name: 'answer', correlation: 'the child', outputVariable: 'answer' },
    ends: { type: 'end', outputParameters: [{ name: 'said', sourceVariable: '{{ctx.answer.payload}}' }] },
  },
};
const begun = async ({ start, settle }: RunActions): Promise<void> => {
  await start();
  await settle();
};

export const subflows: readonly Topology[] = [
  {
    name: 'subflow',
    description:
      'A subflow node starts a child run with the configured input, and the parent continues with the child run’s output.',
    edges: ['start -> call -> a -> end'],
    nodes: {
      call: calls('child', { input: { order: '{{ctx.input.order}}' }, outputVariable: 'made' }),
      a: {},
      end: { type: 'end', outputParameters: [{ name: 'made', sourceVariable: '{{ctx.made.made}}' }] },
    },
    calls: [child],
    input: { order: 7 },
    verify: ({ status, output, called, runsOf }) => {
      expect([status, output, runsOf('a')]).toEqual(['completed', { made: 7 }, 1]);
      expect(called.map((each) => [each.workflow, each.status, each.output])).toEqual([['child', 'completed', { made: 7 }]]);
    },
  },
  {
    name: 'subflow-of-its-inputs',
    description: 'A subflow node without a configured input passes the values of its edges.',
    edges: [{ from: 'start -> a -> call', targetParamLabel: 'order' }, 'call -> b'],
    nodes: { call: calls('child') },
    calls: [child],
    replies: { a: finishedWith(9) },
    verify: ({ called }) => expect(called.map(({ output }) => output)).toEqual([{ made: 9 }]),
  },
  {
    name: 'subflow-fails',
    description: 'A failed child run fails the subflow node, and its error edge is taken.',
    edges: ['start -> call -> next', 'call/error -> rescue'],
    nodes: { call: calls('child') },
    calls: [failing],
    replies: { x: failedWith() },
    verify: ({ status, statusOf, runsOf, called, of }) => {
      expect([status, statusOf('next'), runsOf('rescue'), called[0]?.status]).toEqual(['completed', 'skipped', 1, 'failed']);
      expect(of('node.failed', 'call')).toMatchObject([{ failure: { code: 'subflow_failed', details: { code: 'error' } } }]);
    },
  },
  {
    name: 'subflow-fails-the-run',
    description: 'A failed child run fails its parent when the subflow node has no error edge, and is not retried.',
    edges: ['start -> call -> next'],
    nodes: { call: calls('child') },
    calls: [failing],
    replies: { x: failedWith() },
    verify: ({ status, statusOf, called }) => expect([status, statusOf('next'), called.length]).toEqual(['failed', 'skipped', 1]),
  },
  {
    name: 'subflow-is-tried-again',
    description: 'A subflow node with retries starts a new child run at each attempt.',
    edges: ['start -> call -> next'],
    nodes: { call: calls('child', { retry: { attempts: 2, backoffMs: 1_000 } }) },
    calls: [failing],
    replies: { x: failedWith() },
    verify: ({ status, called, of }) => {
      expect([status, called.map((each) => each.status)]).toEqual(['failed', ['failed', 'failed']]);
      expect(of('subflow.called').map(({ attempt }) => attempt)).toEqual([1, 2]);
    },
  },
  {
    name: 'subflow-cancelled',
    description: 'A cancelled child run fails the subflow node.',
    edges: ['start -> call -> next', 'call/error -> rescue'],
    nodes: { call: calls('child') },
    calls: [waiting],
    actions: async (outside) => {
      await begun(outside);
      await outside.cancelCalled('call', 'not needed');
      await outside.finish();
    },
    verify: ({ status, runsOf, called, of }) => {
      expect([status, runsOf('rescue'), called[0]?.status]).toEqual(['completed', 1, 'cancelled']);
      expect(of('node.failed', 'call')).toMatchObject([{ failure: { code: 'subflow_cancelled' } }]);
    },
  },
  {
    name: 'subflow-cancelled-with-its-caller',
    description: 'A cancelled child run cancels its parent when the subflow node is configured so.',
    edges: ['start -> call -> next', 'start -> nap -> a'],
    nodes: { call: calls('child', { onChildCancelled: 'cancel' }), nap: { type: 'delay', delayMinutes: 30 } },
    calls: [waiting],
    actions: async (outside) => {
      await begun(outside);
      await outside.cancelCalled('call');
      await outside.finish();
    },
    verify: ({ status, statusOf, called }) =>
      expect([status, statusOf('nap'), called[0]?.status]).toEqual(['cancelled', 'cancelled', 'cancelled']),
  },
  {
    name: 'subflow-of-a-cancelled-caller',
    description: 'A cancel of the parent cancels its child run.',
    edges: ['start -> call -> next'],
    nodes: { call: calls('child') },
    calls: [waiting],
    actions: async (outside) => {
      await begun(outside);
      await outside.cancel('enough');
      await outside.finish();
    },
    verify: ({ status, called }) => expect([status, called[0]?.status]).toEqual(['cancelled', 'cancelled']),
  },
  {
    name: 'subflow-abandoned',
    description: 'A cancel of the parent does not cancel a child run that is configured to be abandoned.',
    edges: ['start -> call -> next'],
    nodes: { call: calls('child', { parentClosePolicy: 'abandon', input: { order: 1 } }) },
    calls: [
      { ...child, edges: ['begin -> rest -> x -> ends'], nodes: { ...child.nodes, rest: { type: 'delay', delayMinutes: 5 } } },
    ],
    actions: async (outside) => {
      await begun(outside);
      await outside.cancel();
      await outside.finish();
    },
    verify: ({ status, called }) =>
      expect([status, called[0]?.status, called[0]?.runsOf('x')]).toEqual(['cancelled', 'completed', 1]),
  },
  {
    name: 'subflow-of-a-failed-caller',
    description: 'A parent that fails in another branch cancels its child run.',
    edges: ['start -> call -> next', 'start -> nap -> a'],
    nodes: {
      call: calls('child'),
      nap: { type: 'delay', delayMinutes: 5 },
      a: { ...singleAttempt, errorHandling: 'fail_workflow' },
    },
    calls: [waiting],
    replies: { a: failedWith() },
    verify: ({ status, called }) => expect([status, called.map((each) => each.status)]).toEqual(['failed', ['cancelled']]),
  },
  {
    name: 'subflow-expires',
    description: 'A child run that exceeds its time limit is cancelled, and the subflow node times out.',
    edges: ['start -> call -> next', 'call/error -> rescue'],
    nodes: { call: calls('child', { expiresInSeconds: 7_200 }) },
    calls: [waiting],
    verify: ({ status, statusOf, runsOf, called, of }) => {
      expect([status, statusOf('call'), runsOf('rescue')]).toEqual(['completed', 'timed_out', 1]);
      expect(called[0]?.status).toBe('cancelled');
      expect(of('node.timed_out', 'call')).toMatchObject([{ failure: { code: 'subflow_expired' } }]);
    },
  },
  {
    name: 'subflow-of-unknown-workflow',
    description: 'A subflow node with an unknown workflow fails, and no child run starts.',
    edges: ['start -> call -> next', 'call/error -> rescue'],
    nodes: { call: calls('nobody', { version: 1 }) },
    verify: ({ runsOf, called, of }) => {
      expect([runsOf('rescue'), called.length]).toEqual([1, 0]);
      expect(of('node.failed', 'call')).toMatchObject([{ failure: { code: 'workflow_not_found' } }]);
    },
  },
  {
    name: 'subflow-that-takes-no-such-input',
    description: 'A subflow node whose input does not match the other workflow fails and names the invalid field.',
    edges: ['start -> call -> next', 'call/error -> rescue'],
    nodes: { call: calls('child', { input: {} }) },
    calls: [{ ...child, options: { args: [{ name: 'order', type: 'number', required: true }] } }],
    verify: ({ runsOf, called, of }) => {
      expect([runsOf('rescue'), called.length]).toEqual([1, 0]);
      expect(of('node.failed', 'call')).toMatchObject([{ failure: { code: 'input_invalid' } }]);
    },
  },
  {
    name: 'subflow-of-itself',
    description: 'A workflow that calls itself ends at the limit of eight nested runs, and all of them fail.',
    edges: ['start -> call -> next'],
    nodes: { call: calls('subflow-of-itself') },
    verify: (story) => {
      const statuses: string[] = [];
      let deepest = story;
      for (let each: typeof story | undefined = story; each !== undefined; [each] = each.called) {
        statuses.push(each.status);
        deepest = each;
      }
      expect(statuses).toEqual(Array.from({ length: 8 }, () => 'failed'));
      expect(deepest.of('node.failed', 'call')).toMatchObject([{ failure: { code: 'subflow_too_deep' } }]);
    },
  },
  {
    name: 'subflow-of-a-subflow',
    description: 'An output passes through two levels of subflows.',
    edges: ['start -> call -> end'],
    nodes: {
      call: calls('middle', { input: '{{ctx.input}}', outputVariable: 'made' }),
      end: { type: 'end', outputParameters: [{ name: 'made', sourceVariable: '{{ctx.made.made}}' }] },
    },
    calls: [
      {
        name: 'middle',
        edges: ['enter -> inner -> leave'],
        nodes: {
          enter: { type: 'start' },
          inner: calls('child', { input: '{{ctx.input}}', outputVariable: 'found' }),
          leave: { type: 'end', outputParameters: [{ name: 'made', sourceVariable: '{{ctx.found.made}}' }] },
        },
      },
      child,
    ],
    input: { order: 'deep' },
    verify: ({ output, called }) => {
      expect(output).toEqual({ made: 'deep' });
      expect(called.map((each) => each.called.map(({ workflow }) => workflow))).toEqual([['child']]);
    },
  },
  {
    name: 'subflow-in-a-loop',
    description: 'Each iteration of a loop starts its own child run, and the loop returns their outputs.',
    edges: ['start -> l', 'l/loop -> call', 'l/done -> end'],
    nodes: {
      l: { type: 'loop', sourceVariable: '{{ctx.input.orders}}' },
      call: calls('child', { input: { order: '{{ctx.item}}' } }),
      end: { type: 'end', outputParameters: [{ name: 'results', sourceVariable: '{{ctx.loopResults}}' }] },
    },
    calls: [child],
    input: { orders: ['a', 'b', 'c'] },
    verify: ({ output, called }) => {
      expect(called.map((each) => each.output)).toEqual([{ made: 'a' }, { made: 'b' }, { made: 'c' }]);
      expect(output).toEqual({ results: [{ made: 'a' }, { made: 'b' }, { made: 'c' }] });
    },
  },
  {
    name: 'subflow-whose-end-is-lost',
    description:
      'When the notification of a child run’s end is lost, the sweep reads the child run, and the parent continues with its output.',
    edges: ['start -> call -> a -> end'],
    nodes: {
      call: calls('child', { outputVariable: 'made' }),
      end: { type: 'end', outputParameters: [{ name: 'made', sourceVariable: '{{ctx.made.said}}' }] },
    },
    calls: [answered],
    actions: async (outside) => {
      const { send, loseMessages, advanceIdle, sweep, finish } = outside;
      await begun(outside);
      // The signal ends the child run; its notification to the parent is in the queue.
      await send('answer', 'yes', { correlation: 'the child' });
      await loseMessages();
      for (let waited = 0; waited < minutes(30); waited += minutes(1)) {
        await advanceIdle(minutes(1));
        await sweep();
      }
      await finish();
    },
    verify: ({ status, output, events, runsOf, called, of }) => {
      expect([status, output, runsOf('a')]).toEqual(['completed', { made: 'yes' }, 1]);
      expect(called.map((each) => each.status)).toEqual(['completed']);
      expect(of('subflow.called').length).toBe(1);
      // Only the sweep can notify the parent, minutes later.
      const heard = events.find(({ type, payload }) => type === 'node.completed' && payload['nodeId'] === 'call');
      const ended = called[0]?.events.at(-1);
      expect(Date.parse(heard?.timestamp ?? '') - Date.parse(ended?.timestamp ?? '')).toBeGreaterThanOrEqual(minutes(1));
    },
  },
  {
    name: 'subflow-of-lost-messages',
    description: 'When the message of a subflow node is lost, the sweep recovers it, and one child run starts.',
    edges: ['start -> call -> a'],
    nodes: { call: calls('child') },
    calls: [child],
    actions: async ({ start, loseMessages, advanceIdle, sweep, settle, finish }) => {
      const swept = async (): Promise<void> => {
        for (let waited = 0; waited < minutes(30); waited += minutes(1)) {
          await advanceIdle(minutes(1));
          await sweep();
        }
      };
      await start();
      await loseMessages();
      await swept();
      await settle();
      await finish();
    },
    verify: ({ status, called, runsOf }) => {
      expect([status, runsOf('a')]).toEqual(['completed', 1]);
      expect(called.map((each) => [each.status, each.runsOf('x')])).toEqual([['completed', 1]]);
    },
  },
];
