/** Loops: sequential and concurrent iterations, nested loops, failed items, and loops that a cancel ends. */
import { expect } from 'vitest';
import type { JsonObject, JsonValue } from '../../../lib/engine/json.ts';
import { hours, minutes, seconds } from '../../../lib/engine/time.ts';
import type { RunRecord } from '../run-record.ts';
import { type Reply, type Topology, choice, finishedWith, failedWith, singleAttempt, returnsInputs } from '../topology.ts';

const loop = (config: JsonObject = {}): JsonObject => ({ type: 'loop', sourceVariable: '{{ctx.input.items}}', ...config });
/** The run's output is the results of the loop. */
const end: JsonObject = { type: 'end', outputParameters: [{ name: 'results', sourceVariable: '{{ctx.loopResults}}' }] };

const items = (count: number): JsonValue => ({ items: Array.from({ length: count }, (_, index) => index) });
/** Completes with the key of its iteration. */
const saysPass: Reply = ({ iteration }) => finishedWith(iteration);
const failsIn =
  (...passes: readonly string[]): Reply =>
  ({ iteration }) =>
    passes.includes(iteration) ? failedWith('invalid') : finishedWith(iteration);

const passesOf = ({ attempts }: RunRecord, node: string): readonly string[] =>
  attempts.filter((each) => each.node === node).map(({ iteration }) => iteration);
/** The maximum number of iterations of the loop that were open at the same time. */
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
    description: 'A loop without a concurrency processes its items one after the other and returns their results in order.',
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
      'A loop with concurrency three has three of seven iterations open at a time; a retried iteration ends last and its result keeps its position.',
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
    description: 'The collector commits the results of a loop with concurrency twelve, and each iteration ends once.',
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
    description: 'An inner loop runs once per outer iteration, over the items of that iteration, and returns its results to it.',
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
    description: 'An edge from the body back to the loop is allowed and has no effect.',
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
    description: 'A loop body can branch and join in each iteration.',
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
      'A failed item ends the loop: a dispatched iteration does not run, no other iteration starts, and the error edge is taken.',
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
    description: 'A failed item fails the run when the loop has no error edge.',
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
    description: 'With the policy continue, a failed item leaves its failure at its index, and the other items have results.',
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
    description: 'A failure that an error edge of the body handles does not fail its iteration.',
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
    description: 'A loop over an empty list runs no iteration and returns no results.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop(), end },
    verify: ({ runsOf, output }) => expect([runsOf('a'), output]).toEqual([0, { results: [] }]),
  },
  {
    name: 'loop-of-no-array',
    description: 'A value that is not an array counts as one item.',
    edges: ['start -> l', 'l/loop -> a', 'l/done -> end'],
    nodes: { l: loop(), end },
    input: { items: 'one' },
    replies: { a: saysPass },
    verify: ({ output }) => expect(output).toEqual({ results: ['l[0]'] }),
  },
  {
    name: 'loop-of-too-many',
    description: 'A loop with more items than its maximum fails before its first iteration.',
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
    description: 'A loop waits for its configured pause between items, with a timer.',
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
    description: 'Concurrent iterations sleep independently, and each delays only the nodes behind it.',
    edges: ['start -> l', 'l/loop -> nap -> a', 'l/done -> end'],
    nodes: { l: loop({ concurrency: 2 }), nap: { type: 'delay', delayMinutes: 20 }, end },
    input: items(3),
    replies: { a: saysPass },
    verify: ({ output, of, events }) => {
      expect([of('node.waiting').length, output]).toEqual([3, { results: ['l[0]', 'l[1]', 'l[2]'] }]);
      const took = Date.parse(events.at(-1)?.timestamp ?? '') - Date.parse(events[0]?.timestamp ?? '');
      // Two concurrent iterations, then one.
      expect([took >= minutes(40), took < minutes(43)]).toEqual([true, true]);
    },
  },
  {
    name: 'loop-behind-a-choice',
    description: 'A loop on a branch that is not taken is skipped with its body, and the run does not wait for it.',
    edges: ['start -> pick', 'pick/yes -> l', 'l/loop -> a', 'l/done -> join', 'pick/default -> b -> join', 'join -> end'],
    nodes: { pick: choice('way', 'yes'), l: loop() },
    input: { way: 'no', items: [1] },
    verify: ({ statusOf, runsOf, status }) =>
      expect([statusOf('l'), runsOf('a'), runsOf('join'), status]).toEqual(['skipped', 0, 1, 'completed']),
  },
  {
    name: 'loop-with-a-choice',
    description: 'A join behind a choice waits in each iteration only for the branch that this iteration takes.',
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
    description: 'A cancel ends a loop and all of its open iterations, and no other iteration starts.',
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
    description: 'The sweep sends the lost message of an iteration again, and completed iterations do not run again.',
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
