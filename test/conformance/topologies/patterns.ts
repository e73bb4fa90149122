/** The control-flow patterns of van der Aalst and others that a graph without cycles can say, by their names there. */
import { expect } from 'vitest';
import { minutes, seconds } from '../../../lib/engine/time.ts';
import { type Topology, choice, finishedWith, failedWith, takes, names, singleAttempt } from '../topology.ts';

export const patterns: readonly Topology[] = [
  {
    name: 'parallel-split',
    description: 'All branches of a split are asked for in the commit of the node before it.',
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
    description: 'A join waits for the longest of its branches.',
    edges: ['start -> a1 -> a2 -> a3 -> join', 'start -> b -> join'],
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node).slice(-2)).toEqual(['b', 'join']),
  },
  {
    name: 'exclusive-choice',
    description: 'Where no branch of a choice holds, its default one is taken, and only it.',
    edges: ['start -> check', 'check/a -> a', 'check/b -> b', 'check/default -> otherwise'],
    nodes: { check: choice('take', 'a', 'b') },
    input: { take: 'neither' },
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['otherwise']),
  },
  {
    name: 'simple-merge',
    description: 'Branches of which only one is taken come together without waiting for each other.',
    edges: ['start -> check', 'check/a -> a -> merge', 'check/default -> b -> merge', 'merge -> end'],
    nodes: { check: choice('take', 'a'), merge: { joinMode: 'any' } },
    input: { take: 'a' },
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['a', 'merge']),
  },
  {
    name: 'multi-choice',
    description: 'Of three branches with a condition each, the two that hold are taken.',
    edges: ['start -> c1', 'start -> c2', 'start -> c3', 'c1/yes -> a', 'c2/yes -> b', 'c3/yes -> c'],
    nodes: { c1: choice('one', 'yes'), c2: choice('two', 'yes'), c3: choice('three', 'yes') },
    input: { one: 'yes', two: 'no', three: 'yes' },
    verify: ({ attempts, statusOf }) =>
      expect([...attempts.map(({ node }) => node), statusOf('b')]).toEqual(['a', 'c', 'skipped']),
  },
  {
    name: 'structured-synchronizing-merge',
    description: 'A join behind a multi-choice waits for all that were chosen, and for nothing else.',
    edges: ['start -> c1', 'start -> c2', 'start -> c3', 'c1/yes -> a -> join', 'c2/yes -> b -> join', 'c3/yes -> c -> join'],
    nodes: { c1: choice('one', 'yes'), c2: choice('two', 'yes'), c3: choice('three', 'yes') },
    input: { one: 'yes', two: 'no', three: 'yes' },
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['a', 'c', 'join']),
  },
  {
    name: 'local-synchronizing-merge',
    description: 'A branch that is not taken is dead along all its length, so that a join far behind it does not wait.',
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
    description: 'A node that several branches lead into runs once for all of them, and not once for each.',
    edges: ['start -> a -> merge -> end', 'start -> nap -> merge'],
    nodes: { merge: { joinMode: 'any' }, nap: { type: 'delay', delaySeconds: 30 } },
    verify: ({ runsOf, of }) => expect([runsOf('merge'), of('node.queued', 'merge').length]).toEqual([1, 1]),
  },
  {
    name: 'structured-discriminator',
    description: 'The first of three branches lets the join run; the others end, and nothing more comes of them.',
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
    description: 'A run without an end node ends when nothing of it is left to do.',
    edges: ['start -> a', 'start -> nap -> b'],
    nodes: { nap: { type: 'delay', delayMinutes: 20 } },
    verify: ({ status, output, attempts }) => expect([status, output, attempts.at(-1)?.node]).toEqual(['completed', null, 'b']),
  },
  {
    name: 'explicit-termination',
    description: 'A node that ends the workflow by its failure cancels everything that is still open.',
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
    description: 'A cancel ends the run and all that is open, and the result of an attempt under way changes nothing.',
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
    description: 'Work behind a milestone begins when the milestone is reached, however early everything else was ready.',
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
    description: 'Of a signal and its expiry, the signal that comes first decides the way.',
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
    description: 'Of a signal and its expiry, the expiry that comes first decides the way, and a later signal changes nothing.',
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
    description: 'A signal that is kept for a minute is gone for a wait that begins after it.',
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
    description: 'A signal that is kept is there for a wait that begins later.',
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
    description: 'A branch that works for a while does not hold up what does not depend on it.',
    edges: ['start -> slow -> join', 'start -> quick1 -> quick2 -> join'],
    replies: { slow: takes(seconds(10)) },
    verify: ({ of, runsOf }) => {
      expect(of('node.started', 'slow')).toHaveLength(1);
      expect(runsOf('join')).toBe(1);
    },
  },
];
