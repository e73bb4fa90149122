/** The twelve shapes of the graph document's stress test: its ten named shapes, and two combinations that it describes. */
import { expect } from 'vitest';
import { type Topology, choice, finishedWith, failedWith, names, singleAttempt } from '../topology.ts';

export const stress: readonly Topology[] = [
  {
    name: 'linear',
    description: 'Three nodes in sequence run one after the other, once each.',
    edges: ['start -> a -> b -> c -> end'],
    verify: ({ status, attempts }) => {
      expect(status).toBe('completed');
      expect(attempts.map(({ node }) => node)).toEqual(['a', 'b', 'c']);
    },
  },
  {
    name: 'fan-out',
    description: 'Five branches without a join all run, and the run ends when the last branch ends.',
    edges: names(5, 'b').map((id) => `start -> ${id}`),
    verify: ({ status, of }) => {
      expect(status).toBe('completed');
      expect(of('node.completed').filter(({ nodeId }) => nodeId !== 'start')).toHaveLength(5);
    },
  },
  {
    name: 'fan-in',
    description: 'A join of five branches runs once, after all five end.',
    edges: [...names(5, 'b').map((id) => `start -> ${id} -> join`), 'join -> end'],
    verify: ({ runsOf, attempts }) => {
      expect(runsOf('join')).toBe(1);
      expect(attempts.at(-1)?.node).toBe('join');
    },
  },
  {
    name: 'diamond-and',
    description: 'A join of mode all runs once, after both of its branches end.',
    edges: ['start -> split -> a -> join -> end', 'split -> b -> join'],
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['split', 'a', 'b', 'join']),
  },
  {
    name: 'diamond-or',
    description: 'A join of mode any runs once, although both of its branches succeed.',
    edges: ['start -> split -> a -> join -> end', 'split -> b -> join'],
    nodes: { join: { joinMode: 'any' } },
    verify: ({ runsOf, of, statusOf }) => {
      expect([runsOf('join'), of('node.queued', 'join').length, statusOf('b')]).toEqual([1, 1, 'completed']);
    },
  },
  {
    name: 'deep-chain',
    description: 'Thirty nodes in sequence run with one attempt each, and the run ends with the last.',
    edges: [`start -> ${names(30, 'n').join(' -> ')} -> end`],
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(names(30, 'n')),
  },
  {
    name: 'error-path',
    description: 'A failed node with an error edge takes that edge and skips the main edge, and the run completes.',
    edges: ['start -> a -> good -> end', 'a/error -> rescue -> end'],
    nodes: { a: singleAttempt },
    replies: { a: failedWith() },
    verify: ({ status, statusOf }) =>
      expect([status, statusOf('good'), statusOf('rescue')]).toEqual(['completed', 'skipped', 'completed']),
  },
  {
    name: 'conditional',
    description:
      'Only the branch that the condition selects runs; the other branches are skipped, and the run does not wait for them.',
    edges: ['start -> check', 'check/a -> a -> end', 'check/b -> b -> end', 'check/default -> c -> end'],
    nodes: { check: choice('take', 'a', 'b') },
    input: { take: 'b' },
    verify: ({ status, attempts, statusOf }) => {
      expect([status, statusOf('a'), statusOf('c')]).toEqual(['completed', 'skipped', 'skipped']);
      expect(attempts.map(({ node }) => node)).toEqual(['b']);
    },
  },
  {
    name: 'delay',
    description: 'A delay of one minute holds back the nodes behind it and no other branch.',
    edges: ['start -> nap -> late -> join -> end', 'start -> early -> join'],
    nodes: { nap: { type: 'delay', delayMinutes: 1 } },
    verify: ({ attempts, of }) => {
      expect(attempts.map(({ node }) => node)).toEqual(['early', 'late', 'join']);
      expect(of('node.waiting', 'nap')).toHaveLength(1);
    },
  },
  {
    name: 'multi-level-join',
    description: 'Joins of joins run once each, and the last join runs after all of them.',
    edges: [
      'start -> a -> left',
      'start -> b -> left',
      'start -> c -> right',
      'start -> d -> right',
      'left -> top',
      'right -> top',
      'a -> top',
      'top -> end',
    ],
    verify: ({ attempts, runsOf }) => {
      expect(['left', 'right', 'top'].map(runsOf)).toEqual([1, 1, 1]);
      expect(attempts.at(-1)?.node).toBe('top');
    },
  },
  {
    name: 'conditional-diamond',
    description: 'A join of mode all behind a condition does not wait for the branch that is not taken.',
    edges: ['start -> check', 'check/yes -> a -> join', 'check/default -> b -> join', 'start -> w -> join', 'join -> end'],
    nodes: { check: choice('take', 'yes') },
    input: { take: 'yes' },
    verify: ({ status, runsOf, statusOf }) => {
      expect([status, runsOf('join'), statusOf('b')]).toEqual(['completed', 1, 'skipped']);
    },
  },
  {
    name: 'retried-diamond',
    description: 'A join waits for a branch that is retried after one second.',
    edges: ['start -> a -> join -> end', 'start -> b -> join'],
    replies: { a: [failedWith(), finishedWith('at last')] },
    verify: ({ attempts }) =>
      expect(attempts.map(({ node, attempt }) => `${node}${attempt}`)).toEqual(['a1', 'b1', 'a2', 'join1']),
  },
];
