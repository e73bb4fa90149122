/** Budgets of a run: dispatches within the budget, and the end of a run that needs more. */
import { expect } from 'vitest';
import { seconds } from '../../../lib/engine/time.ts';
import { type Topology, finishedWith, failedWith, names, singleAttempt } from '../topology.ts';

const telling = (input: number, output: number) => ({ ...finishedWith('told'), tokens: { input, output } });
const exceeded = (budget: string, limit: number, used: number, nodeId: string) => [
  { error: { cause: 'budget', code: 'budget_exceeded', details: { budget, limit, used, nodeId } } },
];

export const budgets: readonly Topology[] = [
  {
    name: 'budget-that-suffices',
    description: 'A run that uses exactly its budget completes.',
    edges: ['start -> a -> b -> end'],
    options: { budget: { maxNodeExecutions: 2, maxTokens: 10 } },
    replies: { a: telling(2, 3), b: telling(4, 1) },
    verify: ({ status, attempts }) => expect([status, attempts.length]).toEqual(['completed', 2]),
  },
  {
    name: 'budget-of-executions',
    description: 'A run that needs one execution more than its budget fails, and that execution is not dispatched.',
    edges: ['start -> a -> b -> c -> end'],
    options: { budget: { maxNodeExecutions: 2 } },
    verify: ({ of, runsOf }) => {
      expect([runsOf('a'), runsOf('b'), runsOf('c')]).toEqual([1, 1, 0]);
      expect(of('run.failed')).toMatchObject(exceeded('maxNodeExecutions', 2, 2, 'c'));
    },
  },
  {
    name: 'budget-of-repetitions',
    description: 'Each retry counts against the budget, and a retry beyond the budget fails the run, even with an error edge.',
    edges: ['start -> a -> end', 'a/error -> rescue'],
    options: { budget: { maxNodeExecutions: 2 } },
    replies: { a: failedWith() },
    verify: ({ of, runsOf }) => {
      expect([runsOf('a'), runsOf('rescue')]).toEqual([2, 0]);
      expect(of('run.failed')).toMatchObject(exceeded('maxNodeExecutions', 2, 2, 'a'));
    },
  },
  {
    name: 'budget-in-wide-fan-out',
    description: 'No branch of a fan-out is dispatched when the budget does not suffice for all of them.',
    edges: ['start -> a', ...names(10, 'n').map((id) => `a -> ${id}`)],
    options: { budget: { maxNodeExecutions: 10 } },
    verify: ({ of, attempts }) => {
      expect(attempts).toHaveLength(1);
      expect(of('run.failed')).toMatchObject(exceeded('maxNodeExecutions', 10, 1, 'n9'));
    },
  },
  {
    name: 'budget-of-tokens',
    description: 'A result that exceeds the token budget is stored and fails the run, and the next node is not dispatched.',
    edges: ['start -> a -> b -> c -> end'],
    options: { budget: { maxTokens: 20 } },
    replies: { a: telling(15, 5), b: telling(1, 0) },
    verify: ({ of, runsOf, statusOf }) => {
      expect([runsOf('b'), statusOf('b'), runsOf('c')]).toEqual([1, 'completed', 0]);
      expect(of('run.failed')).toMatchObject(exceeded('maxTokens', 20, 21, 'b'));
    },
  },
  {
    name: 'budget-of-tokens-of-failures',
    description: 'The tokens of a failed attempt count against the budget.',
    edges: ['start -> a -> end', 'a/error -> rescue'],
    nodes: { a: singleAttempt },
    options: { budget: { maxTokens: 4 } },
    replies: {
      a: { kind: 'failed', failure: { cause: 'contract_violated', message: 'on purpose' }, tokens: { input: 4, output: 4 } },
    },
    verify: ({ of, runsOf }) => {
      expect(runsOf('rescue')).toBe(0);
      expect(of('run.failed')).toMatchObject(exceeded('maxTokens', 4, 8, 'a'));
    },
  },
  {
    name: 'budget-with-work-under-way',
    description: 'A run that exhausts its budget aborts its running work, and the result of that work has no effect.',
    edges: ['start -> long -> after', 'start -> nap -> a -> b'],
    nodes: { nap: { type: 'delay', delaySeconds: 5 } },
    options: { budget: { maxNodeExecutions: 2 } },
    replies: {
      long: async ({ actions, lasts }) => {
        await actions.advanceTime(seconds(10));
        await lasts(seconds(20));
        return finishedWith('too late');
      },
    },
    verify: ({ of, statusOf, runsOf }) => {
      expect([statusOf('long'), runsOf('after'), runsOf('b')]).toEqual(['cancelled', 0, 0]);
      expect(of('run.failed')).toMatchObject(exceeded('maxNodeExecutions', 2, 2, 'b'));
    },
  },
];
