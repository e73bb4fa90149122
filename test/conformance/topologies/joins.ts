/** Joins: nested, behind conditions and error edges, with late, failing and disabled parents, and with wide fan-outs. */
import { expect } from 'vitest';
import { type Topology, choice, finishedWith, failedWith, names, singleAttempt, returnsInputs } from '../topology.ts';

export const joins: readonly Topology[] = [
  {
    name: 'nested-diamonds',
    description: 'In nested diamonds, the inner join runs before the outer join.',
    edges: ['start -> a -> a1 -> inner -> outer', 'a -> a2 -> inner', 'start -> b -> outer', 'outer -> end'],
    verify: ({ attempts, runsOf }) => {
      expect([runsOf('inner'), runsOf('outer')]).toEqual([1, 1]);
      expect(attempts.slice(-2).map(({ node }) => node)).toEqual(['inner', 'outer']);
    },
  },
  {
    name: 'diamonds-three-deep',
    description: 'In three nested diamonds, the joins run from the inside out, once each.',
    edges: ['start -> a -> b -> c -> j3 -> j2 -> j1', 'start -> x1 -> j1', 'a -> x2 -> j2', 'b -> x3 -> j3'],
    verify: ({ attempts }) =>
      expect(attempts.map(({ node }) => node).filter((id) => id.startsWith('j'))).toEqual(['j3', 'j2', 'j1']),
  },
  {
    name: 'join-of-nothing',
    description: 'A join is skipped when none of its branches is taken, and the run completes.',
    edges: ['start -> check', 'check/a -> a -> join', 'check/b -> b -> join', 'join -> after', 'check/default -> c'],
    nodes: { check: choice('take', 'a', 'b') },
    verify: ({ status, statusOf, attempts }) => {
      expect([status, statusOf('join'), statusOf('after')]).toEqual(['completed', 'skipped', 'skipped']);
      expect(attempts.map(({ node }) => node)).toEqual(['c']);
    },
  },
  {
    name: 'error-edge-into-a-join',
    description: 'A join behind an error handler waits for the handler, and an independent branch does not.',
    edges: ['start -> a -> good -> join', 'a/error -> rescue -> join', 'start -> b -> join', 'join -> end'],
    nodes: { a: singleAttempt },
    replies: { a: failedWith('provider_error') },
    verify: ({ runsOf, statusOf }) => expect([runsOf('rescue'), runsOf('join'), statusOf('good')]).toEqual([1, 1, 'skipped']),
  },
  {
    name: 'both-ways-into-one-join',
    description: 'When the main edge and the error edge lead to the same node, the node runs once, whichever edge is taken.',
    edges: ['start -> a -> next -> end', 'a/error -> next'],
    nodes: { a: singleAttempt },
    replies: { a: failedWith() },
    verify: ({ status, runsOf }) => expect([status, runsOf('next')]).toEqual(['completed', 1]),
  },
  {
    name: 'error-edges-not-taken',
    description: 'A node with only incoming error edges is skipped when no node fails, and the run completes.',
    edges: ['start -> a -> end', 'start -> b -> end', 'a/error -> alarm', 'b/error -> alarm'],
    verify: ({ status, statusOf }) => expect([status, statusOf('alarm')]).toEqual(['completed', 'skipped']),
  },
  {
    name: 'any-join-late-parent',
    description: 'A join of mode any runs after the first parent; a parent that ends an hour later has no effect on it.',
    edges: [
      { from: 'start -> a' },
      { from: 'a -> join', targetParamLabel: 'x' },
      'start -> nap',
      { from: 'nap -> join', targetParamLabel: 'y' },
    ],
    nodes: { join: { joinMode: 'any' }, nap: { type: 'delay', delayMinutes: 60 } },
    replies: { join: returnsInputs },
    verify: ({ inputsOf, runsOf, statusOf }) => {
      expect([runsOf('join'), inputsOf('join')]).toEqual([1, { x: 'a' }]);
      expect(statusOf('nap')).toBe('completed');
    },
  },
  {
    name: 'any-join-failing-first',
    description: 'A failed parent does not decide a join of mode any while another parent is open.',
    edges: ['start -> a -> join -> end', 'start -> nap -> b -> join'],
    nodes: { a: singleAttempt, join: { joinMode: 'any' }, nap: { type: 'delay', delaySeconds: 5 } },
    replies: { a: failedWith() },
    verify: ({ status, runsOf, attempts }) => {
      expect([status, runsOf('join')]).toEqual(['completed', 1]);
      expect(attempts.map(({ node }) => node)).toEqual(['a', 'b', 'join']);
    },
  },
  {
    name: 'any-join-failing-last',
    description: 'A parent that fails after a join of mode any has run does not change the join, and the run completes.',
    edges: ['start -> a -> join -> end', 'start -> nap -> b -> join'],
    nodes: { b: singleAttempt, join: { joinMode: 'any' }, nap: { type: 'delay', delaySeconds: 5 } },
    replies: { b: failedWith() },
    verify: ({ status, runsOf, statusOf }) => expect([status, runsOf('join'), statusOf('b')]).toEqual(['completed', 1, 'failed']),
  },
  {
    name: 'any-join-behind-conditions',
    description: 'A branch that is not taken does not decide a join of mode any.',
    edges: ['start -> check', 'check/yes -> a -> join', 'start -> b -> c -> join', 'join -> end'],
    nodes: { check: choice('take', 'yes'), join: { joinMode: 'any' } },
    verify: ({ attempts, statusOf }) => {
      expect(attempts.map(({ node }) => node)).toEqual(['b', 'c', 'join']);
      expect(statusOf('a')).toBe('skipped');
    },
  },
  {
    name: 'any-join-of-nothing',
    description: 'A join of mode any is skipped when none of its branches is taken.',
    edges: ['start -> check', 'check/a -> a -> join', 'check/b -> b -> join', 'join -> end'],
    nodes: { check: choice('take', 'a', 'b'), join: { joinMode: 'any' } },
    verify: ({ status, statusOf, output }) => expect([status, statusOf('join'), output]).toEqual(['completed', 'skipped', null]),
  },
  {
    name: 'join-of-retries',
    description: 'A join waits for two branches that need two and three attempts.',
    edges: ['start -> a -> join', 'start -> b -> join'],
    replies: { a: [failedWith(), finishedWith('a')], b: [failedWith(), failedWith(), finishedWith('b')] },
    verify: ({ runsOf, attempts }) => {
      expect(['a', 'b', 'join'].map(runsOf)).toEqual([2, 3, 1]);
      expect(attempts.at(-1)?.node).toBe('join');
    },
  },
  {
    name: 'two-edges-between-two-nodes',
    description: 'Two edges between the same nodes bring two values and count as one parent.',
    edges: [
      { from: 'start -> a' },
      { from: 'a -> b', sourceOutputKey: 'x', targetParamLabel: 'first' },
      { from: 'a -> b', sourceOutputKey: 'y', targetParamLabel: 'second' },
    ],
    replies: { a: finishedWith({ x: 1, y: 2 }), b: returnsInputs },
    verify: ({ inputsOf, runsOf }) => expect([runsOf('b'), inputsOf('b')]).toEqual([1, { first: 1, second: 2 }]),
  },
  {
    name: 'wide-fan-out',
    description: 'The collector commits the results of nine or more branches, and their join runs once.',
    edges: [...names(9, 'b').map((id) => `start -> ${id} -> join`), 'join -> end'],
    verify: ({ of, runsOf }) => {
      const branches = of('node.queued').filter(({ wave }) => wave === 1);
      expect(branches.map(({ via }) => via)).toEqual(Array.from({ length: 9 }, () => 'collect'));
      expect(runsOf('join')).toBe(1);
    },
  },
  {
    name: 'eight-branches',
    description: 'The workers of eight branches commit the results themselves.',
    edges: names(8, 'b').map((id) => `start -> ${id} -> join`),
    verify: ({ of, runsOf }) => {
      expect(of('node.queued').filter(({ via }) => via === 'collect')).toEqual([]);
      expect(runsOf('join')).toBe(1);
    },
  },
  {
    name: 'wide-fan-out-in-several-batches',
    description: 'The collector commits twenty-five branches in batches, one of them after a retry, and their join runs once.',
    edges: [...names(25, 'b').map((id) => `start -> ${id} -> join`), 'join -> end'],
    replies: { b7: [failedWith(), finishedWith('b7')] },
    verify: ({ runsOf, status }) => expect([status, runsOf('b7'), runsOf('join')]).toEqual(['completed', 2, 1]),
  },
  {
    name: 'wide-fan-out-with-a-failing-branch',
    description:
      'When one of twelve collected branches fails its last attempt, the join is skipped, and the run fails after all branches end.',
    edges: [...names(12, 'b').map((id) => `start -> ${id} -> join`), 'join -> end'],
    nodes: { b3: singleAttempt },
    replies: { b3: failedWith() },
    verify: ({ status, statusOf, attempts }) => {
      expect([status, statusOf('join'), attempts.length]).toEqual(['failed', 'skipped', 12]);
    },
  },
  {
    name: 'all-succeeded-behind-a-condition',
    description: 'A join of mode allSucceeded runs after the branch that a condition chose.',
    edges: ['start -> check', 'check/a -> a -> join', 'check/b -> b -> join', 'start -> c -> join'],
    nodes: { check: choice('a', 'a', 'b'), join: { joinMode: 'allSucceeded' } },
    verify: ({ status, runsOf, statusOf }) =>
      expect([status, runsOf('join'), statusOf('b')]).toEqual(['completed', 1, 'skipped']),
  },
  {
    name: 'all-succeeded-after-a-handled-failure',
    description:
      'A join of mode allSucceeded is skipped when an error edge handles the failure of a parent, and the run completes.',
    edges: ['start -> a -> join -> after', 'start -> b -> join', 'b/error -> rescue'],
    nodes: { b: singleAttempt, join: { joinMode: 'allSucceeded' } },
    replies: { b: failedWith() },
    verify: ({ status, statusOf, runsOf }) => {
      expect([status, statusOf('join'), statusOf('after'), runsOf('rescue')]).toEqual(['completed', 'skipped', 'skipped', 1]);
    },
  },
  {
    name: 'all-succeeded-behind-a-skipped-parent',
    description: 'A join of mode allSucceeded is skipped when a handled failure kept a node before it from running.',
    edges: ['start -> a -> join', 'start -> b -> c -> d -> join', 'b/error -> rescue'],
    nodes: { b: singleAttempt, join: { joinMode: 'allSucceeded' } },
    replies: { b: failedWith() },
    verify: ({ status, statusOf }) =>
      expect([status, statusOf('d'), statusOf('join')]).toEqual(['completed', 'skipped', 'skipped']),
  },
];
