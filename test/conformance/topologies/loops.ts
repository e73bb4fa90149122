/** Loops: passes in order and side by side, loops in loops, items that fail, and what ends a loop from outside. */
import { expect } from 'vitest';
import type { JsonObject, JsonValue } from '../../../lib/engine/json.ts';
import { hours, minutes, seconds } from '../../../lib/engine/time.ts';
import type { RunRecord } from '../run-record.ts';
import { type Reply, type Topology, choice, finishedWith, failedWith, singleAttempt, returnsInputs } from '../topology.ts';

const loop = (config: JsonObject = {}): JsonObject => ({ type: 'loop', sourceVariable: '{{ctx.input.items}}', ...config });
/** Ends the run with what the loop has made. */
const end: JsonObject = { type: 'end', outputParameters: [{ name: 'results', sourceVariable: '{{ctx.loopResults}}' }] };

const items = (count: number): JsonValue => ({ items: Array.from({ length: count }, (_, index) => index) });
/** Finished with the pass that it was in. */
const saysPass: Reply = ({ iteration }) => finishedWith(iteration);
const failsIn =
  (...passes: readonly string[]): Reply =>
  ({ iteration }) =>
    passes.includes(iteration) ? failedWith('invalid') : finishedWith(iteration);

const passesOf = ({ attempts }: RunRecord, node: string): readonly string[] =>
  attempts.filter((each) => each.node === node).map(({ iteration }) => iteration);
/** How many passes of the loop were under way together at most. */
const mostTogether = ({ events }: RunRecord): number => {
  let [now, most] = [0, 0];
  for (const { type } of events) {
    if (type === 'iteration.started') now += 1;
    if (type === 'iteration.ended') now -= 1;
    most = Math.max(most, now);
  }
  return most;
};

export const loops: readonly Topology[] = [
  {
    name: 'loop-in-order',
    description: 'A loop without a concurrency takes its items one after the other, and goes on with their results in order.',
    edges: ['start -> l', 'l/loop -> a -> b', 'l/done -> end'],
    nodes: { l: loop(), end },
    input: items(3),
    replies: { a: returnsInputs, b: saysPass },
    verify: (story) => {
      expect(story.attempts.map(({ node, iteration }) => `${node}@${iteration}`)).toEqual(
        [0, 1, 2].flatMap((index) => [`a@l[${index}]`, `b@l[${index}]`]),
      );
      expect([mostTogether(story), story.output]).toEqual([1, { results: ['l[0]', 'l[1]', 'l[2]'] }]);
    },
  },
  {
    name: 'loop-side-by-side',
    description:
      'Three of seven passes are under way at a time; one that is repeated ends last, and its result stands in its place.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop({ concurrency: 3 }), end },
    input: items(7),
    replies: { a: [({ iteration }) => (iteration === 'l[1]' ? failedWith() : finishedWith(iteration)), saysPass] },
    verify: (story) => {
      const ended = story.of('iteration.ended').map(({ index }) => index);
      expect([mostTogether(story), ended.at(-1)]).toEqual([3, 1]);
      expect(story.output).toEqual({ results: [0, 1, 2, 3, 4, 5, 6].map((index) => `l[${index}]`) });
    },
  },
  {
    name: 'loop-wide',
    description: 'Of a loop that takes twelve items at a time the results are collected, and each pass ends once.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop({ concurrency: 12 }), end },
    input: items(30),
    replies: { a: saysPass },
    verify: (story) => {
      expect(story.of('node.queued', 'a').every(({ via }) => via === 'collect')).toBe(true);
      expect([mostTogether(story), story.of('iteration.ended').length]).toEqual([12, 30]);
    },
  },
  {
    name: 'loop-in-a-loop',
    description: 'A loop in a loop runs once in each pass around it, over that pass’s own items, and its results are the pass’s.',
    edges: ['start -> outer', 'outer/loop -> inner', 'inner/loop -> a', 'inner/done -> sum', 'outer/done -> end'],
    nodes: {
      outer: { ...loop(), itemVariable: 'row', indexVariable: 'place', outputVariable: 'loopResults' },
      inner: { ...loop(), sourceVariable: '{{ctx.row}}', concurrency: 2, outputVariable: 'cells' },
      end,
    },
    input: { items: [[1, 2, 3], [], [4]] },
    replies: { a: saysPass, sum: saysPass },
    verify: (story) => {
      expect(passesOf(story, 'a').toSorted()).toEqual(
        [0, 1, 2].map((index) => `outer[0]/inner[${index}]`).concat('outer[2]/inner[0]'),
      );
      expect(passesOf(story, 'sum')).toEqual(['outer[0]', 'outer[1]', 'outer[2]']);
      expect(story.output).toEqual({ results: ['outer[0]', 'outer[1]', 'outer[2]'] });
    },
  },
  {
    name: 'loop-back-edge',
    description: 'An edge from the body back to the loop says "and so on": it changes nothing.',
    edges: ['start -> l', 'l/loop -> a -> l', 'l/done -> end'],
    nodes: { l: loop(), end },
    input: items(2),
    replies: { a: saysPass },
    verify: (story) => {
      expect(passesOf(story, 'a')).toEqual(['l[0]', 'l[1]']);
      expect(story.output).toEqual({ results: ['l[0]', 'l[1]'] });
    },
  },
  {
    name: 'loop-branches',
    description: 'A body branches and joins as any graph does, pass by pass.',
    edges: ['start -> l', 'l/loop -> pick', 'pick/even -> a -> join', 'pick/default -> b -> join', 'l/done -> end'],
    nodes: {
      l: loop(),
      pick: {
        type: 'condition',
        branches: [
          { id: 'even', label: 'even', conditions: [{ leftValue: '{{ctx.item.isEven}}', operator: 'equals', rightValue: true }] },
        ],
      },
      end,
    },
    input: { items: [{ isEven: true }, { isEven: false }] },
    verify: (story) => {
      expect([passesOf(story, 'a'), passesOf(story, 'b'), passesOf(story, 'join')]).toEqual([
        ['l[0]'],
        ['l[1]'],
        ['l[0]', 'l[1]'],
      ]);
      expect(story.status).toBe('completed');
    },
  },
  {
    name: 'loop-item-fails',
    description:
      'A failing item ends the loop: a pass that was asked for beside it is not run, no other begins, and the error edge is taken.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> next', 'l/error -> rescue'],
    nodes: { l: loop({ concurrency: 2 }) },
    input: items(5),
    replies: { a: failsIn('l[0]') },
    verify: (story) => {
      expect([passesOf(story, 'a'), story.of('iteration.started').length]).toEqual([['l[0]'], 2]);
      expect([story.statusOf('next'), story.runsOf('rescue'), story.status]).toEqual(['skipped', 1, 'completed']);
      expect(story.of('node.failed', 'l')).toMatchObject([{ failure: { code: 'loop_item_failed' } }]);
    },
  },
  {
    name: 'loop-item-fails-without-error-edge',
    description: 'A failing item fails the run where nothing takes the loop’s error.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> next'],
    nodes: { l: loop() },
    input: items(3),
    replies: { a: failsIn('l[0]') },
    verify: (story) => {
      expect(passesOf(story, 'a')).toEqual(['l[0]']);
      expect([story.statusOf('next'), story.status]).toEqual(['skipped', 'failed']);
    },
  },
  {
    name: 'loop-item-fails-and-loop-continues',
    description: 'With the policy continue a failing item leaves its failure in its place, and the others have their results.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop({ onItemFailure: 'continue' }), end },
    input: items(3),
    replies: { a: failsIn('l[1]') },
    verify: (story) => {
      expect(story.status).toBe('completed');
      expect(story.output).toMatchObject({ results: ['l[0]', { success: false, error: { details: { nodeId: 'a' } } }, 'l[2]'] });
    },
  },
  {
    name: 'loop-item-is-rescued',
    description: 'A failure that an error edge of the body takes is none of its pass.',
    edges: ['start -> l', 'l/loop -> a -> b', 'a/error -> rescue', 'l/done -> end'],
    nodes: { l: loop(), a: singleAttempt, end },
    input: items(2),
    replies: { a: failsIn('l[0]'), b: saysPass, rescue: finishedWith('rescued') },
    verify: (story) => {
      expect([passesOf(story, 'b'), passesOf(story, 'rescue'), story.status]).toEqual([['l[1]'], ['l[0]'], 'completed']);
      expect(story.of('iteration.ended').map(({ status }) => status)).toEqual(['completed', 'completed']);
    },
  },
  {
    name: 'loop-of-nothing',
    description: 'A loop over nothing runs no pass and goes on with no results.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop(), end },
    verify: ({ runsOf, output }) => expect([runsOf('a'), output]).toEqual([0, { results: [] }]),
  },
  {
    name: 'loop-of-no-array',
    description: 'A value that is no array is one item.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop(), end },
    input: { items: 'one' },
    replies: { a: saysPass },
    verify: ({ output }) => expect(output).toEqual({ results: ['l[0]'] }),
  },
  {
    name: 'loop-of-too-many',
    description: 'More items than the loop may take fail it before its first pass.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> next', 'l/error -> rescue'],
    nodes: { l: loop({ maxIterations: 2 }) },
    input: items(3),
    verify: ({ runsOf, of }) => {
      expect([runsOf('a'), runsOf('rescue')]).toEqual([0, 1]);
      expect(of('node.failed', 'l')).toMatchObject([{ failure: { code: 'loop_too_many_items' } }]);
    },
  },
  {
    name: 'loop-with-pauses',
    description: 'Between items the loop pauses as long as it is told to, by a timer.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop({ delayBetweenItems: 30_000 }), end },
    input: items(3),
    replies: { a: saysPass },
    verify: ({ of, status, events }) => {
      expect([of('loop.paused').length, status]).toEqual([2, 'completed']);
      const [first, last] = [events.at(0), events.at(-1)].map((event) => Date.parse(event?.timestamp ?? ''));
      expect((last ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(seconds(60));
    },
  },
  {
    name: 'loop-of-sleeps',
    description: 'Passes sleep side by side, each in its own time, and hold back only what is behind them.',
    edges: ['start -> l', 'l/loop -> nap -> a', 'l/done -> end'],
    nodes: { l: loop({ concurrency: 2 }), nap: { type: 'delay', delayMinutes: 20 }, end },
    input: items(3),
    replies: { a: saysPass },
    verify: ({ output, of, events }) => {
      expect([of('node.waiting').length, output]).toEqual([3, { results: ['l[0]', 'l[1]', 'l[2]'] }]);
      const took = Date.parse(events.at(-1)?.timestamp ?? '') - Date.parse(events[0]?.timestamp ?? '');
      // Two together, then one.
      expect([took >= minutes(40), took < minutes(43)]).toEqual([true, true]);
    },
  },
  {
    name: 'loop-behind-a-choice',
    description: 'A loop on a branch that is not taken is skipped with all its body, and nothing waits for it.',
    edges: ['start -> pick', 'pick/yes -> l', 'l/loop -> a', 'l/done -> join', 'pick/default -> b -> join', 'join -> end'],
    nodes: { pick: choice('way', 'yes'), l: loop() },
    input: { way: 'no', items: [1] },
    verify: ({ statusOf, runsOf, status }) =>
      expect([statusOf('l'), runsOf('a'), runsOf('join'), status]).toEqual(['skipped', 0, 1, 'completed']),
  },
  {
    name: 'loop-with-a-choice',
    description: 'In each pass the join behind a choice waits only for the branch that this pass has taken.',
    edges: ['start -> l', 'l/loop -> check', 'check/left -> a -> join', 'check/default -> b -> join', 'l/done -> after'],
    nodes: {
      l: loop({ itemVariable: 'way' }),
      check: {
        ...choice('way', 'left'),
        branches: [{ id: 'left', conditions: [{ leftValue: '{{ctx.way}}', operator: 'equals', rightValue: 'left' }] }],
      },
    },
    input: { items: ['left', 'other'] },
    verify: (story) => {
      expect(['a', 'b', 'join'].map((node) => passesOf(story, node))).toEqual([['l[0]'], ['l[1]'], ['l[0]', 'l[1]']]);
      expect(story.status).toBe('completed');
    },
  },
  {
    name: 'loop-cancelled',
    description: 'A cancel ends a loop with every pass that is under way, and no other begins.',
    edges: ['start -> l', 'l/loop -> nap -> a', 'l/done -> end'],
    nodes: { l: loop({ concurrency: 2 }), nap: { type: 'delay', delayMinutes: 60 } },
    input: items(4),
    actions: async ({ start, settle, cancel, finish }) => {
      await start();
      await settle();
      await cancel('enough');
      await finish();
    },
    verify: ({ status, statusOf, runsOf, of }) => {
      expect([status, statusOf('l'), runsOf('a')]).toEqual(['cancelled', 'cancelled', 0]);
      expect(of('iteration.started')).toHaveLength(2);
    },
  },
  {
    name: 'loop-of-lost-messages',
    description:
      'A pass whose message was lost is asked for again by the sweep, and the passes that have ended are not run again.',
    edges: ['start -> l', 'l/loop -> a -> nap -> b', 'l/done -> end'],
    nodes: { l: loop({ concurrency: 2 }), nap: { type: 'delay', delayMinutes: 60 }, end },
    input: items(2),
    replies: { b: saysPass },
    actions: async ({ start, settle, loseMessages, advanceIdle, sweep, finish }) => {
      await start();
      await settle();
      await loseMessages();
      for (let waited = 0; waited < hours(1) + minutes(5); waited += minutes(1)) {
        await advanceIdle(minutes(1));
        await sweep();
      }
      await finish();
    },
    verify: (story) => {
      expect([passesOf(story, 'a'), story.output]).toEqual([['l[0]', 'l[1]'], { results: ['l[0]', 'l[1]'] }]);
      expect(story.of('run.recovered').length).toBeGreaterThan(0);
    },
  },
];
