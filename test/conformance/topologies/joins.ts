/** Joins in every company: nested, behind conditions, error edges, late, failing and disabled parents, and crowds. */
import { expect } from 'vitest';
import { type Topology, choice, finishedWith, failedWith, names, singleAttempt, returnsInputs } from '../topology.ts';

export const joins: readonly Topology[] = [
  {
    name: 'nested-diamonds',
    description: 'A diamond inside a diamond joins within before it joins without.',
    edges: ['start -> a -> a1 -> inner -> outer', 'a -> a2 -> inner', 'start -> b -> outer', 'outer -> end'],
    verify: ({ attempts, runsOf }) => {
      expect([runsOf('inner'), runsOf('outer')]).toEqual([1, 1]);
      expect(attempts.slice(-2).map(({ node }) => node)).toEqual(['inner', 'outer']);
    },
  },
  {
    name: 'diamonds-three-deep',
    description: 'Three diamonds, each in a branch of the next, join from within, each once.',
    edges: ['start -> a -> b -> c -> j3 -> j2 -> j1', 'start -> x1 -> j1', 'a -> x2 -> j2', 'b -> x3 -> j3'],
    verify: ({ attempts }) =>
      expect(attempts.map(({ node }) => node).filter((id) => id.startsWith('j'))).toEqual(['j3', 'j2', 'j1']),
  },
  {
    name: 'join-of-nothing',
    description: 'A join all of whose branches are not taken is skipped, and the run ends well without it.',
    edges: ['start -> check', 'check/a -> a -> join', 'check/b -> b -> join', 'join -> after', 'check/default -> c'],
    nodes: { check: choice('take', 'a', 'b') },
    verify: ({ status, statusOf, attempts }) => {
      expect([status, statusOf('join'), statusOf('after')]).toEqual(['completed', 'skipped', 'skipped']);
      expect(attempts.map(({ node }) => node)).toEqual(['c']);
    },
  },
  {
    name: 'error-edge-into-a-join',
    description: 'A join behind a rescue waits for the rescue, and its neighbour is not held up.',
    edges: ['start -> a -> good -> join', 'a/error -> rescue -> join', 'start -> b -> join', 'join -> end'],
    nodes: { a: singleAttempt },
    replies: { a: failedWith('provider_error') },
    verify: ({ runsOf, statusOf }) => expect([runsOf('rescue'), runsOf('join'), statusOf('good')]).toEqual([1, 1, 'skipped']),
  },
  {
    name: 'both-ways-into-one-join',
    description: 'Where the main way and the error way lead into the same node, it runs once whichever is taken.',
    edges: ['start -> a -> next -> end', 'a/error -> next'],
    nodes: { a: singleAttempt },
    replies: { a: failedWith() },
    verify: ({ status, runsOf }) => expect([status, runsOf('next')]).toEqual(['completed', 1]),
  },
  {
    name: 'error-edges-not-taken',
    description: 'A node that only error edges lead into is skipped when nothing fails, and the run ends well.',
    edges: ['start -> a -> end', 'start -> b -> end', 'a/error -> alarm', 'b/error -> alarm'],
    verify: ({ status, statusOf }) => expect([status, statusOf('alarm')]).toEqual(['completed', 'skipped']),
  },
  {
    name: 'any-join-late-parent',
    description: 'A join of mode any runs with the first parent; one that comes an hour later changes nothing of it.',
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
    description: 'A parent that fails does not decide a join of mode any while another may still come.',
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
    description: 'A parent that fails when a join of mode any has run takes nothing back: the run ends well.',
    edges: ['start -> a -> join -> end', 'start -> nap -> b -> join'],
    nodes: { b: singleAttempt, join: { joinMode: 'any' }, nap: { type: 'delay', delaySeconds: 5 } },
    replies: { b: failedWith() },
    verify: ({ status, runsOf, statusOf }) => expect([status, runsOf('join'), statusOf('b')]).toEqual(['completed', 1, 'failed']),
  },
  {
    name: 'any-join-behind-conditions',
    description: 'A join of mode any is not decided by a branch that is not taken.',
    edges: ['start -> check', 'check/yes -> a -> join', 'start -> b -> c -> join', 'join -> end'],
    nodes: { check: choice('take', 'yes'), join: { joinMode: 'any' } },
    verify: ({ attempts, statusOf }) => {
      expect(attempts.map(({ node }) => node)).toEqual(['b', 'c', 'join']);
      expect(statusOf('a')).toBe('skipped');
    },
  },
  {
    name: 'any-join-of-nothing',
    description: 'A join of mode any none of whose branches is taken is skipped.',
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
    description: 'Two edges between the same nodes bring two values, and are one parent.',
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
    description: 'Nine branches and more send their results to be collected, and the join behind them runs once.',
    edges: [...names(9, 'b').map((id) => `start -> ${id} -> join`), 'join -> end'],
    verify: ({ of, runsOf }) => {
      const branches = of('node.queued').filter(({ wave }) => wave === 1);
      expect(branches.map(({ via }) => via)).toEqual(Array.from({ length: 9 }, () => 'collect'));
      expect(runsOf('join')).toBe(1);
    },
  },
  {
    name: 'eight-branches',
    description: 'Eight branches still commit their results themselves.',
    edges: names(8, 'b').map((id) => `start -> ${id} -> join`),
    verify: ({ of, runsOf }) => {
      expect(of('node.queued').filter(({ via }) => via === 'collect')).toEqual([]);
      expect(runsOf('join')).toBe(1);
    },
  },
  {
    name: 'wide-fan-out-in-several-batches',
    description: 'Twenty-five branches, of which one fails at first, are collected in batches and joined once.',
    edges: [...names(25, 'b').map((id) => `start -> ${id} -> join`), 'join -> end'],
    replies: { b7: [failedWith(), finishedWith('b7')] },
    verify: ({ runsOf, status }) => expect([status, runsOf('b7'), runsOf('join')]).toEqual(['completed', 2, 1]),
  },
  {
    name: 'wide-fan-out-with-a-failing-branch',
    description: 'One of twelve collected branches fails for good: the join is skipped, and the run fails when all have ended.',
    edges: [...names(12, 'b').map((id) => `start -> ${id} -> join`), 'join -> end'],
    nodes: { b3: singleAttempt },
    replies: { b3: failedWith() },
    verify: ({ status, statusOf, attempts }) => {
      expect([status, statusOf('join'), attempts.length]).toEqual(['failed', 'skipped', 12]);
    },
  },
];
