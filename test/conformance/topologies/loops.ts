/** Loops: a pass for each item, one after the other or side by side, and what follows when one of them fails. */
import { expect } from 'vitest';
import { type JsonObject, isJsonObject } from '../../../lib/engine/json.ts';
import { minutes, seconds } from '../../../lib/engine/time.ts';
import { type DrawnEdge, type Reply, type Topology, choice, done, fails, names, once } from '../topology.ts';

const over = (more: JsonObject = {}): JsonObject => ({ type: 'loop', sourceVariable: '{{ctx.input.items}}', ...more });
/** The pass is given its item and its index under `pass`. */
const into = (from: string): DrawnEdge => ({ from, targetParamLabel: 'pass' });
const drawn = ['start -> each', into('each/loop -> work'), 'each/done -> after'];
const items = (...given: readonly (string | readonly string[])[]): JsonObject => ({ items: given });

const itemOf = ({ inputs }: Parameters<Extract<Reply, (...given: never) => unknown>>[0]): string => {
  const { pass = null } = inputs;
  const item = isJsonObject(pass) ? pass['item'] : undefined;
  return typeof item === 'string' ? item : '';
};
const shouts: Reply = (moment) => done(itemOf(moment).toUpperCase());
const failsAt =
  (bad: string): Reply =>
  (moment) =>
    itemOf(moment) === bad ? fails('invalid') : done(itemOf(moment));
const results = (of: Parameters<Topology['holds']>[0], loop = 'each') =>
  of.of('node.completed', loop).map(({ output }) => output);

export const loops: readonly Topology[] = [
  {
    name: 'loop-one-after-the-other',
    says: 'Each item has a pass, the next begins when the one before it has ended, and the results stand in their order.',
    edges: drawn,
    nodes: { each: over() },
    input: items('a', 'b', 'c'),
    replies: { work: shouts },
    holds: (story) => {
      expect(results(story)).toEqual([{ value: ['A', 'B', 'C'] }]);
      expect(story.of('iteration.started').map(({ index }) => index)).toEqual([0, 1, 2]);
      expect(story.runsOf('after')).toBe(1);
    },
  },
  {
    name: 'loop-side-by-side',
    says: 'Two passes at a time, of which the first takes longest: a third begins when one has ended, and the order of the results stays.',
    edges: drawn,
    nodes: { each: over({ concurrency: 2 }) },
    input: items('slow', 'b', 'c'),
    replies: {
      work: async (moment) => {
        if (itemOf(moment) === 'slow') await moment.lasts(seconds(3));
        return done(itemOf(moment));
      },
    },
    holds: (story) => expect(results(story)).toEqual([{ value: ['slow', 'b', 'c'] }]),
  },
  {
    name: 'loop-in-a-crowd',
    says: 'Twelve passes at a time send their results to be collected, and none is lost or taken twice.',
    edges: drawn,
    nodes: { each: over({ concurrency: 12 }) },
    input: items(...names(25, 'i')),
    replies: { work: shouts },
    holds: (story) => {
      expect(results(story)).toEqual([{ value: names(25, 'I') }]);
      expect(story.runsOf('work')).toBe(25);
    },
  },
  {
    name: 'loop-of-nothing',
    says: 'A loop without items is done at once, and its body never runs.',
    edges: drawn,
    nodes: { each: over() },
    input: items(),
    holds: (story) => expect([results(story), story.runsOf('work'), story.runsOf('after')]).toEqual([[{ value: [] }], 0, 1]),
  },
  {
    name: 'loop-in-a-loop',
    says: 'Each pass of the outer loop goes through all passes of the inner one, and the results are lists in a list.',
    edges: ['start -> each', 'each/loop -> inner', into('inner/loop -> work'), 'each/done -> after'],
    nodes: { each: over({ itemVariable: 'row' }), inner: over({ sourceVariable: '{{ctx.row}}', outputVariable: 'rows' }) },
    input: items(['a', 'b'], [], ['c']),
    replies: { work: shouts },
    holds: (story) => {
      expect(results(story)).toEqual([{ value: [['A', 'B'], [], ['C']] }]);
      expect(story.of('node.completed', 'work').map(({ iteration }) => iteration)).toEqual([
        'each[0]/inner[0]',
        'each[0]/inner[1]',
        'each[2]/inner[0]',
      ]);
    },
  },
  {
    name: 'loop-drawn-back',
    says: 'An edge from the body back to its loop means no more than “and so on”: it is no cycle, and no node ends twice in a pass.',
    edges: [...drawn, 'work -> each'],
    nodes: { each: over() },
    input: items('a', 'b'),
    replies: { work: shouts },
    holds: (story) => expect(results(story)).toEqual([{ value: ['A', 'B'] }]),
  },
  {
    name: 'loop-with-a-choice',
    says: 'In each pass the join behind a choice waits only for the branch that this pass has taken.',
    edges: ['start -> each', 'each/loop -> check', 'check/left -> l -> join', 'check/default -> r -> join', 'each/done -> after'],
    nodes: {
      each: over({ itemVariable: 'way' }),
      check: {
        ...choice('way', 'left'),
        branches: [{ id: 'left', conditions: [{ leftValue: '{{ctx.way}}', operator: 'equals', rightValue: 'left' }] }],
      },
    },
    input: items('left', 'other'),
    holds: (story) => {
      expect([story.runsOf('l'), story.runsOf('r'), story.runsOf('join'), story.status]).toEqual([1, 1, 2, 'completed']);
    },
  },
  {
    name: 'loop-with-a-rescue',
    says: 'A failure that an error edge of the body takes is none of the pass.',
    edges: [...drawn, 'work/error -> rescue'],
    nodes: { each: over(), work: once },
    input: items('a', 'bad', 'c'),
    replies: { work: failsAt('bad') },
    holds: (story) => expect(results(story)).toEqual([{ value: ['a', 'rescue', 'c'] }]),
  },
  {
    name: 'loop-failing-item',
    says: 'An item that fails ends its loop, which takes its error edge, and no further pass begins.',
    edges: [...drawn, 'each/error -> rescue'],
    nodes: { each: over() },
    input: items('a', 'bad', 'c'),
    replies: { work: failsAt('bad') },
    holds: ({ runsOf, of, status }) => {
      expect([runsOf('work'), runsOf('rescue'), runsOf('after'), status]).toEqual([2, 1, 0, 'completed']);
      expect(of('node.failed', 'each')).toMatchObject([{ failure: { code: 'loop_item_failed' } }]);
    },
  },
  {
    name: 'loop-failing-item-continued',
    says: 'An item that fails in a loop that goes on is an entry among the results.',
    edges: drawn,
    nodes: { each: over({ onItemFailure: 'continue' }) },
    input: items('a', 'bad', 'c'),
    replies: { work: failsAt('bad') },
    holds: (story) => {
      expect(results(story)).toMatchObject([{ value: ['a', { success: false, error: { cause: 'invalid' } }, 'c'] }]);
      expect(story.status).toBe('completed');
    },
  },
  {
    name: 'loop-retried-item',
    says: 'An item whose first attempt fails is tried again within its pass.',
    edges: drawn,
    nodes: { each: over() },
    input: items('a', 'b'),
    replies: { work: [fails(), done('well')] },
    holds: (story) => expect([results(story), story.runsOf('work')]).toEqual([[{ value: ['well', 'well'] }], 4]),
  },
  {
    name: 'loop-with-waits-between-items',
    says: 'A minute lies between two passes, and none before the first or behind the last.',
    edges: drawn,
    nodes: { each: over({ delayBetweenItems: 60_000 }) },
    input: items('a', 'b', 'c'),
    replies: { work: shouts },
    holds: ({ of }) => expect(of('loop.paused')).toHaveLength(2),
  },
  {
    name: 'loop-over-its-limit',
    says: 'More items than the loop may take fail it before any pass begins.',
    edges: [...drawn, 'each/error -> rescue'],
    nodes: { each: over({ maxIterations: 2 }) },
    input: items('a', 'b', 'c'),
    holds: ({ runsOf, of }) => {
      expect([runsOf('work'), runsOf('rescue')]).toEqual([0, 1]);
      expect(of('node.failed', 'each')).toMatchObject([{ failure: { code: 'loop_too_many_items' } }]);
    },
  },
  {
    name: 'loop-cancelled',
    says: 'A cancel while a pass sleeps ends the loop: what slept goes on no more, and no further pass begins.',
    edges: ['start -> each', 'each/loop -> nap -> work', 'each/done -> after'],
    nodes: { each: over(), nap: { type: 'delay', delayMinutes: 5 } },
    input: items('a', 'b'),
    outside: async (outside) => {
      await outside.start();
      await outside.pass(minutes(6));
      await outside.cancel('enough');
      await outside.finish();
    },
    holds: ({ runsOf, status, of }) => {
      expect([runsOf('work'), runsOf('after'), status]).toEqual([1, 0, 'cancelled']);
      expect(of('iteration.started')).toHaveLength(2);
    },
  },
];
