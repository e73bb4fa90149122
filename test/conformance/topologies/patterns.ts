/** The control-flow patterns of van der Aalst et al. that a DAG can express, with their published names. */
import { expect } from 'vitest';
import { minutes, seconds } from '../../../lib/engine/time.ts';
import { type Topology, choice, finishedWith, failedWith, takes, names, singleAttempt } from '../topology.ts';

export const patterns: readonly Topology[] = [
  {
    name: 'parallel-split',
    description: 'The commit that ends a node dispatches all branches behind it.',
    edges: ['start -> a -> b', 'a -> c', 'a -> d'],
    verify: ({ events }) => {
      const at = events.findIndex(({ type, payload }) => type === 'node.completed' && payload['nodeId'] === 'a');
      const next = events.findIndex(({ type }, index) => index > at && type === 'node.completed');
      const asked = events.slice(at, next).filter(({ type }) => type === 'node.queued');
      expect(asked.map(({ payload }) => payload['nodeId'])).toEqual(['b', 'c', 'd']);
    },
  },
  {
    name: 'synchronization',
    description: 'A join waits for its longest branch.',
    edges: ['start -> a1 -> a2 -> a3 -> join', 'start -> b -> join'],
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node).slice(-2)).toEqual(['b', 'join']),
  },
  {
    name: 'exclusive-choice',
    description: 'When no condition of a choice holds, only the default branch runs.',
    edges: ['start -> check', 'check/a -> a', 'check/b -> b', 'check/default -> otherwise'],
    nodes: { check: choice('take', 'a', 'b') },
    input: { take: 'neither' },
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['otherwise']),
  },
  {
    name: 'simple-merge',
    description: 'A node that joins alternative branches does not wait for the branches that are not taken.',
    edges: ['start -> check', 'check/a -> a -> merge', 'check/default -> b -> merge', 'merge -> end'],
    nodes: { check: choice('take', 'a'), merge: { joinMode: 'any' } },
    input: { take: 'a' },
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['a', 'merge']),
  },
  {
    name: 'multi-choice',
    description: 'Of three branches with a condition each, the two whose conditions hold run.',
    edges: ['start -> c1', 'start -> c2', 'start -> c3', 'c1/yes -> a', 'c2/yes -> b', 'c3/yes -> c'],
    nodes: { c1: choice('one', 'yes'), c2: choice('two', 'yes'), c3: choice('three', 'yes') },
    input: { one: 'yes', two: 'no', three: 'yes' },
    verify: ({ attempts, statusOf }) =>
      expect([...attempts.map(({ node }) => node), statusOf('b')]).toEqual(['a', 'c', 'skipped']),
  },
  {
    name: 'structured-synchronizing-merge',
    description: 'A join behind a multi-choice waits for the selected branches only.',
    edges: ['start -> c1', 'start -> c2', 'start -> c3', 'c1/yes -> a -> join', 'c2/yes -> b -> join', 'c3/yes -> c -> join'],
    nodes: { c1: choice('one', 'yes'), c2: choice('two', 'yes'), c3: choice('three', 'yes') },
    input: { one: 'yes', two: 'no', three: 'yes' },
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['a', 'c', 'join']),
  },
  {
    name: 'local-synchronizing-merge',
    description: 'All nodes of a branch that is not taken are skipped, and a distant join does not wait for them.',
    edges: ['start -> check', 'check/yes -> a -> join', 'check/default -> b1 -> b2 -> b3 -> join', 'b1 -> join', 'join -> end'],
    nodes: { check: choice('take', 'yes') },
    input: { take: 'yes' },
    verify: ({ status, of, runsOf }) => {
      expect([status, runsOf('join')]).toEqual(['completed', 1]);
      expect(of('node.skipped').map(({ nodeId }) => nodeId)).toEqual(['b1', 'b2', 'b3']);
    },
  },
  {
    name: 'multi-merge',
    description: 'A node with several incoming branches runs once for all of them, and not once for each.',
    edges: ['start -> a -> merge -> end', 'start -> nap -> merge'],
    nodes: { merge: { joinMode: 'any' }, nap: { type: 'delay', delaySeconds: 30 } },
    verify: ({ runsOf, of }) => expect([runsOf('merge'), of('node.queued', 'merge').length]).toEqual([1, 1]),
  },
  {
    name: 'structured-discriminator',
    description: 'The first of three branches starts the join; the other branches complete and have no further effect.',
    edges: ['start -> a -> join -> end', 'start -> nap1 -> b -> join', 'start -> nap2 -> c -> join'],
    nodes: { join: { joinMode: 'any' }, nap1: { type: 'delay', delaySeconds: 10 }, nap2: { type: 'delay', delaySeconds: 20 } },
    verify: ({ attempts, status }) => {
      expect(attempts.map(({ node }) => node)).toEqual(['a', 'join', 'b', 'c']);
      expect(status).toBe('completed');
    },
  },
  {
    name: 'multiple-instances-known-at-design-time',
    description: 'Three instances of the same work run independently and are joined.',
    edges: names(3, 'instance').map((id) => `start -> ${id} -> join`),
    replies: { instance1: [failedWith(), finishedWith('second try')] },
    verify: ({ runsOf }) => expect([...names(3, 'instance'), 'join'].map(runsOf)).toEqual([1, 2, 1, 1]),
  },
  {
    name: 'implicit-termination',
    description: 'A run without an end node completes when no node is open.',
    edges: ['start -> a', 'start -> nap -> b'],
    nodes: { nap: { type: 'delay', delayMinutes: 20 } },
    verify: ({ status, output, attempts }) => expect([status, output, attempts.at(-1)?.node]).toEqual(['completed', null, 'b']),
  },
  {
    name: 'explicit-termination',
    description: 'A node whose failure fails the workflow cancels all open nodes.',
    edges: ['start -> stop', 'start -> nap -> late', 'start -> wait'],
    nodes: {
      stop: { ...singleAttempt, errorHandling: 'fail_workflow' },
      nap: { type: 'delay', delayMinutes: 5 },
      wait: { type: 'signal', name: 'paid' },
    },
    replies: { stop: failedWith() },
    verify: ({ status, statusOf, runsOf }) => {
      expect([status, statusOf('nap'), statusOf('wait')]).toEqual(['failed', 'cancelled', 'cancelled']);
      expect(runsOf('late')).toBe(0);
    },
  },
  {
    name: 'cancel-case',
    description: 'A cancel ends the run and all open nodes, and the result of the running attempt has no effect.',
    edges: ['start -> a -> b', 'start -> nap'],
    nodes: { nap: { type: 'delay', delayMinutes: 5 } },
    replies: {
      a: async ({ actions, lasts }) => {
        await actions.cancel('no longer wanted');
        await lasts(seconds(20));
        return finishedWith('too late');
      },
    },
    verify: ({ status, statusOf, runsOf, of }) => {
      expect([status, statusOf('a'), statusOf('nap'), runsOf('b')]).toEqual(['cancelled', 'cancelled', 'cancelled', 0]);
      expect(of('run.cancelled')).toEqual([{ reason: 'no longer wanted' }]);
    },
  },
  {
    name: 'milestone',
    description: 'Work behind a milestone starts only after the milestone, even if all other inputs were ready before.',
    edges: ['start -> a -> b', 'start -> reached -> b'],
    nodes: { reached: { type: 'signal', name: 'milestone' } },
    actions: async ({ start, advanceTime, send, finish }) => {
      await start();
      await advanceTime(minutes(10));
      await send('milestone', { at: 'last' });
      await finish();
    },
    verify: ({ events, attempts }) => {
      const received = events.find(({ type }) => type === 'signal.received');
      const asked = events.find(({ type, payload }) => type === 'node.queued' && payload['nodeId'] === 'b');
      expect(asked?.timestamp).toBe(received?.timestamp);
      expect(attempts.map(({ node }) => node)).toEqual(['a', 'b']);
    },
  },
  {
    name: 'deferred-choice-by-signal',
    description: 'When the signal arrives before the expiry, the run follows the signal branch.',
    edges: ['start -> wait -> paid', 'wait/expired -> reminder'],
    nodes: { wait: { type: 'signal', name: 'paid', expiresInSeconds: 60, onExpiry: 'continue' } },
    actions: async ({ start, advanceTime, send, finish }) => {
      await start();
      await advanceTime(seconds(59));
      await send('paid', 5);
      await finish();
    },
    verify: ({ runsOf, statusOf }) => expect([runsOf('paid'), statusOf('reminder')]).toEqual([1, 'skipped']),
  },
  {
    name: 'deferred-choice-by-expiry',
    description:
      'When the wait expires before the signal arrives, the run follows the expiry branch, and a later signal has no effect.',
    edges: ['start -> wait -> paid', 'wait/expired -> reminder'],
    nodes: { wait: { type: 'signal', name: 'paid', correlation: 'order-7', expiresInSeconds: 60, onExpiry: 'continue' } },
    actions: async ({ start, advanceTime, send, finish }) => {
      await start();
      await advanceTime(seconds(61));
      expect(await send('paid', 5, { correlation: 'order-7' })).toEqual({ isDelivered: false });
      await finish();
    },
    verify: ({ runsOf, statusOf, of }) =>
      expect([runsOf('reminder'), statusOf('paid'), of('signal.received').length]).toEqual([1, 'skipped', 0]),
  },
  {
    name: 'transient-trigger',
    description: 'A signal with a retention of one minute has expired for a wait that starts later.',
    edges: ['start -> nap -> wait -> a', 'wait/expired -> b'],
    nodes: {
      nap: { type: 'delay', delayMinutes: 2 },
      wait: { type: 'signal', name: 'ring', correlation: 'door', expiresInSeconds: 60, onExpiry: 'continue' },
    },
    actions: async ({ start, send, finish }) => {
      await start();
      await send('ring', null, { correlation: 'door', expiresIn: minutes(1) });
      await finish();
    },
    verify: ({ runsOf, of }) => expect([runsOf('a'), runsOf('b'), of('signal.received').length]).toEqual([0, 1, 0]),
  },
  {
    name: 'persistent-trigger',
    description: 'A stored signal is delivered to a wait that starts later.',
    edges: ['start -> nap -> wait -> a', 'wait/expired -> b'],
    nodes: {
      nap: { type: 'delay', delayMinutes: 2 },
      wait: { type: 'signal', name: 'ring', correlation: 'door', expiresInSeconds: 60, onExpiry: 'continue' },
    },
    actions: async ({ start, send, finish }) => {
      await start();
      await send('ring', { by: 'the postman' }, { correlation: 'door' });
      await finish();
    },
    verify: ({ runsOf, of }) => expect([runsOf('a'), runsOf('b'), of('signal.received').length]).toEqual([1, 0, 1]),
  },
  {
    name: 'critical-path',
    description: 'A long-running branch does not delay nodes that do not depend on it.',
    edges: ['start -> slow -> join', 'start -> quick1 -> quick2 -> join'],
    replies: { slow: takes(seconds(10)) },
    verify: ({ of, runsOf }) => {
      expect(of('node.started', 'slow')).toHaveLength(1);
      expect(runsOf('join')).toBe(1);
    },
  },
];
