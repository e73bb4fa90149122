/** Recovery by the sweep: lost messages, lost timers and a backlog of the workers. */
import { expect } from 'vitest';
import { minutes } from '../../../lib/engine/time.ts';
import type { RunActions } from '../run-actions.ts';
import { type Topology, names } from '../topology.ts';

const sweepEachMinute = async ({ advanceIdle, sweep }: RunActions, count: number): Promise<void> => {
  for (let minute = 0; minute < count; minute += 1) {
    await advanceIdle(minutes(1));
    await sweep();
  }
};

export const recovery: readonly Topology[] = [
  {
    name: 'a-lost-message',
    description: 'The sweep sends the lost message of a node again within five minutes and reports this, and the node runs once.',
    edges: ['start -> a -> b -> end'],
    actions: async (outside) => {
      await outside.start();
      await outside.loseMessages();
      await sweepEachMinute(outside, 5);
      await outside.finish();
    },
    verify: ({ status, runsOf, of }) => {
      expect([status, runsOf('a')]).toEqual(['completed', 1]);
      expect(of('run.recovered')[0]).toEqual({ nodes: ['a'] });
    },
  },
  {
    name: 'a-lost-branch',
    description: 'Only the branch whose message was lost runs again; completed nodes do not.',
    edges: ['start -> a -> join', 'start -> nap -> b -> join'],
    nodes: { nap: { type: 'delay', delayMinutes: 20 } },
    actions: async (outside) => {
      await outside.start();
      await outside.settle();
      await outside.loseMessages();
      await sweepEachMinute(outside, 23);
      await outside.finish();
    },
    verify: ({ status, of, attempts }) => {
      expect(attempts.map(({ node }) => node)).toEqual(['a', 'b', 'join']);
      expect([status, of('run.recovered')]).toEqual(['completed', [{ nodes: ['nap'] }]]);
    },
  },
  {
    name: 'lost-wide-fan-out',
    description: 'The lost messages of nine branches are sent again together, and the join runs once.',
    edges: names(9, 'b').map((id) => `start -> ${id} -> join`),
    actions: async (outside) => {
      await outside.start();
      await outside.loseMessages();
      await sweepEachMinute(outside, 5);
      await outside.finish();
    },
    verify: ({ status, runsOf, of }) => {
      expect([status, runsOf('join')]).toEqual(['completed', 1]);
      expect(of('run.recovered')[0]).toEqual({ nodes: names(9, 'b') });
    },
  },
  {
    name: 'a-backlog',
    description: 'A backlog of 45 minutes fails no node: when the workers continue, each node runs once.',
    edges: ['start -> a -> join', 'start -> b -> join', 'join -> end'],
    actions: async (outside) => {
      await outside.start();
      await sweepEachMinute(outside, 45);
      await outside.finish();
    },
    verify: ({ status, runsOf, of }) => {
      expect([status, ...['a', 'b', 'join'].map(runsOf)]).toEqual(['completed', 1, 1, 1]);
      expect(of('node.failed')).toEqual([]);
    },
  },
];
