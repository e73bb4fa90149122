/** Loops: an iteration per item, each with its own variables, and the results in the order of the items. */
import { describe, expect, test } from 'vitest';
import { seconds } from '../../../lib/engine/time.ts';
import {
  type GraphSpec,
  type NodeTraits,
  awaits,
  ends,
  failed,
  finished,
  graph,
  ms,
  completesAtOnce,
  sleepsUntil,
  threeAttempts,
} from '../graph-builder.ts';
import { type GraphRunFixture, dawn, foldOf, plain, started, describeEvents } from '../graph-run-fixture.ts';

const each = (loop: NonNullable<NodeTraits['loop']>, more: NodeTraits = {}): NodeTraits => ({
  loop,
  outputVariable: 'results',
  ...more,
});
const simple = (loop: NonNullable<NodeTraits['loop']>, more: GraphSpec = {}): GraphSpec => ({
  nodes: { start: completesAtOnce, each: each(loop), ...more.nodes },
  edges: ['start -> each', 'each/loop -> work', 'each/done -> after', ...(more.edges ?? [])],
});
const resultsOf = (play: GraphRunFixture): unknown => play.state.contextWrites.get('results')?.at(-1)?.payload;

describe('sequential iterations', () => {
  test('the next iteration begins in the commit that ends the previous one', () => {
    const play = started(graph(simple({ over: ['a', 'b'] })));
    expect(describeEvents(play.events)).toEqual([
      'INPUT_SET',
      'RUN_STARTED',
      'NODE_COMPLETED start',
      'LOOP_STARTED each',
      'ITERATION_STARTED each[0]',
      'NODE_DISPATCHED work@each[0]',
    ]);
    expect(describeEvents(play.ends('work@each[0]', finished('A')))).toEqual([
      'RUN_STATUS_CHANGED',
      'NODE_COMPLETED work@each[0]',
      'ITERATION_ENDED each[0]',
      'ITERATION_STARTED each[1]',
      'NODE_DISPATCHED work@each[1]',
    ]);
    expect(describeEvents(play.ends('work@each[1]', finished('B')))).toEqual([
      'NODE_COMPLETED work@each[1]',
      'ITERATION_ENDED each[1]',
      'NODE_COMPLETED each',
      'NODE_DISPATCHED after',
    ]);
    expect(resultsOf(play)).toEqual({ value: ['A', 'B'] });
    play.ends('after');
    expect(play.status).toBe('completed');
  });

  test('a loop without items completes at once', () => {
    const play = started(graph(simple({ over: [] })));
    expect(describeEvents(play.events).slice(2)).toEqual([
      'NODE_COMPLETED start',
      'NODE_COMPLETED each',
      'NODE_DISPATCHED after',
    ]);
    expect(resultsOf(play)).toEqual({ value: [] });
  });

  test('a repeated result changes nothing, during its iteration and after it', () => {
    const play = started(graph(simple({ over: [1, 2] })));
    const first = play.ended('work@each[0]', finished('A'));
    play.decide(first);
    expect(play.decide(first)).toEqual([]);
    expect(play.decide({ kind: 'node-woken', node: first.node, attempt: first.attempt })).toEqual([]);
    play.ends('work@each[1]');
    expect(play.decide(first)).toEqual([]);
  });

  test('an edge from the body back to the loop only means "continue"', () => {
    const straight = started(graph(simple({ over: [1, 2] })));
    const drawn = started(graph(simple({ over: [1, 2] }, { edges: ['work -> each'] })));
    for (const play of [straight, drawn]) for (const index of [0, 1]) play.ends(`work@each[${index}]`);
    expect(drawn.events).toEqual(straight.events);
  });
});

describe('an iteration sees', () => {
  const drawing = simple(
    { over: [{ id: 'x' }, { id: 'y' }] },
    {
      nodes: { before: { outputVariable: 'rate' }, work: { outputVariable: 'mine' } },
      edges: ['before -> start', 'work -> more'],
    },
  );

  test('its item and index, values from before the loop, and values of its own nodes', () => {
    const play = started(graph(drawing));
    play.ends('before', finished(7));
    play.ends('work@each[0]', finished('from iteration 0'));
    const { context, iteration } = play.inputOf('more@each[0]');
    expect(iteration).toBe('each[0]');
    expect(context.all()).toEqual({ input: {}, rate: 7, item: { id: 'x' }, index: 0, mine: 'from iteration 0' });
    expect(context.get('__node_work')).toEqual({ status: 'completed', output: 'from iteration 0' });
    expect(context.keys({ hidden: true })).toContain('__node_work');
  });

  test('nothing of other iterations, and only the results remain afterwards', () => {
    const play = started(graph(drawing));
    play.ends('before', finished(7));
    play.ends('work@each[0]', finished('from iteration 0'));
    play.ends('more@each[0]', finished('first'));
    expect(play.inputOf('work@each[1]').context.all()).toEqual({ input: {}, rate: 7, item: { id: 'y' }, index: 1 });
    play.ends('work@each[1]', finished('from iteration 1'));
    play.ends('more@each[1]', finished('second'));
    expect(play.inputOf('after').context.all()).toEqual({ input: {}, rate: 7, results: ['first', 'second'] });
    expect(play.state.iterations.size).toBe(0);
    expect([...play.state.nodes.keys()]).toEqual(['before', 'start', 'each', 'after']);
  });

  test('the item and its index under the label of an edge into the body', () => {
    const labelled = { from: 'each/loop -> work', targetParamLabel: 'order', sourceOutputKey: 'item.id' };
    const whole = { from: 'each/loop -> work', targetParamLabel: 'all' };
    const play = started(
      graph({ nodes: { each: each({ over: [{ id: 'x' }] }) }, edges: [labelled, whole, 'each/done -> after'] }),
    );
    expect(play.inputOf('work@each[0]').inputs).toEqual({ order: 'x', all: { item: { id: 'x' }, index: 0 } });
  });
});

describe('concurrent iterations', () => {
  test('as many as the concurrency run at once, and the results keep the order of the items', () => {
    const play = started(graph(simple({ over: ['a', 'b', 'c', 'd'], concurrency: 2 })));
    expect(play.openIds()).toEqual(['each', 'work@each[0]', 'work@each[1]']);
    play.ends('work@each[1]', finished('B'));
    expect(play.openIds()).toEqual(['each', 'work@each[0]', 'work@each[2]']);
    play.ends('work@each[2]', finished('C'));
    play.ends('work@each[3]', finished('D'));
    play.ends('work@each[0]', finished('A'));
    expect(resultsOf(play)).toEqual({ value: ['A', 'B', 'C', 'D'] });
  });

  test('ten or more iterations have collected results, and ten results begin ten iterations in one commit', () => {
    const play = started(graph(simple({ over: Array.from({ length: 40 }, (_, at) => at), concurrency: 10 })));
    expect(new Set(play.eventsOf('NODE_DISPATCHED').map(({ via }) => via))).toEqual(new Set(['collect']));
    const events = play.decide(...Array.from({ length: 10 }, (_, at) => play.ended(`work@each[${at}]`)));
    expect(events.filter(({ type }) => type === 'ITERATION_STARTED')).toHaveLength(10);
    expect(new Set(events.flatMap((event) => ('via' in event ? [event.via] : [])))).toEqual(new Set(['collect']));
  });

  test('a commit begins no more iterations than it can hold, and a wake-up begins the rest', () => {
    const play = started(graph(simple({ over: Array.from({ length: 1_000 }, (_, at) => at), concurrency: 1_000 })));
    const begun = play.eventsOf('ITERATION_STARTED').length;
    expect(begun).toBeGreaterThan(100);
    expect(begun).toBeLessThan(300);
    while (play.eventsOf('ITERATION_STARTED').length < 1_000) expect(play.decide(play.woken('each')).length).toBeGreaterThan(0);
    expect(play.decide(play.woken('each'))).toEqual([]);
  });

  test('a body of pure nodes processes its items in a few commits', () => {
    const over = Array.from({ length: 1_000 }, (_, at) => at);
    const pure: NodeTraits = { pure: ({ context }) => finished(context.get('item') ?? null) };
    const play = started(graph(simple({ over }, { nodes: { work: pure } })));
    while (play.statusOf('each') === 'waiting') play.decide(play.woken('each'));
    expect(resultsOf(play)).toEqual({ value: over });
    expect(play.commits.length).toBeLessThan(15);
  });
});

describe('an iteration that fails', () => {
  test('fails the loop, which names the item and ends the other iterations', () => {
    const play = started(graph(simple({ over: [1, 2, 3], concurrency: 2 }, { edges: ['each/error -> rescue'] })));
    const late = play.ended('work@each[0]');
    expect(describeEvents(play.ends('work@each[1]', failed()))).toEqual([
      'RUN_STATUS_CHANGED',
      'NODE_FAILED work@each[1]',
      'ITERATION_ENDED each[1]',
      'NODE_FAILED each',
      'NODE_SKIPPED after',
      'NODE_DISPATCHED rescue',
    ]);
    expect(play.node('each')).toMatchObject({
      failure: { code: 'loop_item_failed', details: { index: 1, itemNodeId: 'work' } },
      iterations: { items: 3, started: 2, ended: 1, failed: 1 },
    });
    expect(play.openIds()).toEqual(['rescue']);
    expect(play.state.iterations.size).toBe(0);
    expect(play.decide(late)).toEqual([]);
  });

  test('is retried first, by its node’s policy', () => {
    const play = started(graph(simple({ over: [1] }, { nodes: { work: { retry: threeAttempts } } })));
    expect(describeEvents(play.ends('work@each[0]', failed()))).toContain('NODE_RETRIED work@each[0]');
    play.ends('work@each[0]');
    expect(play.statusOf('each')).toBe('completed');
  });

  test('is an entry among the results if the loop continues on failure', () => {
    const play = started(graph(simple({ over: [1, 2], onItemFailure: 'continue' })));
    play.ends('work@each[0]', failed('timeout'));
    play.ends('work@each[1]', finished('B'));
    expect(resultsOf(play)).toEqual({
      value: [
        {
          success: false,
          error: { cause: 'timeout', message: 'node work failed: it broke: timeout', details: { nodeId: 'work' } },
        },
        'B',
      ],
    });
    expect(play.node('each')).toMatchObject({ status: 'completed', iterations: { failed: 1 } });
  });

  test('does not count as failed if an error edge handles the failure', () => {
    const play = started(graph(simple({ over: [1] }, { edges: ['work/error -> fix'] })));
    play.ends('work@each[0]', failed());
    play.ends('fix@each[0]', finished('fixed'));
    expect(resultsOf(play)).toEqual({ value: ['fixed'] });
  });

  test('ends the run if its node’s policy says so', () => {
    const play = started(graph(simple({ over: [1] }, { nodes: { work: { errorHandling: 'fail_workflow' } } })));
    play.ends('work@each[0]', failed());
    expect([play.status, play.statusOf('each')]).toEqual(['failed', 'cancelled']);
  });
});

describe('bodies', () => {
  test('a join inside a body waits for its own iteration', () => {
    const play = started(
      graph(simple({ over: [1, 2], concurrency: 2 }, { edges: ['each/loop -> other', 'work -> join', 'other -> join'] })),
    );
    play.ends('work@each[0]');
    play.ends('other@each[1]');
    expect(play.openIds()).not.toContain('join@each[0]');
    play.ends('other@each[0]');
    expect(play.openIds()).toContain('join@each[0]');
    expect(play.openIds()).not.toContain('join@each[1]');
  });

  test('a node with only an error edge gives the result if it succeeds, and its error branch does otherwise', () => {
    const play = started(graph(simple({ over: [1, 2] }, { edges: ['work/error -> rescue'] })));
    play.ends('work@each[0]', finished('well'));
    play.ends('work@each[1]', failed());
    play.ends('rescue@each[1]', finished('rescued'));
    expect(resultsOf(play)).toEqual({ value: ['well', 'rescued'] });
  });

  test('the result is that of the leaf that was reached, or of all of them by label', () => {
    const choice: NodeTraits = { pure: ({ context }) => finished(null, context.get('item') === 1 ? 'one' : 'other') };
    const edges = ['check/one -> a', 'check/other -> b', 'check/other -> c', 'check/none -> d'];
    const play = started(
      graph(simple({ over: [1, 2, 3] }, { nodes: { check: choice, b: { label: 'Bee' } }, edges: ['work -> check', ...edges] })),
    );
    play.ends('work@each[0]');
    play.ends('a@each[0]', finished('A'));
    play.ends('work@each[1]');
    play.ends('b@each[1]', finished('B'));
    play.ends('c@each[1]', finished('C'));
    play.ends('work@each[2]', finished('x', 'nowhere'));
    expect(resultsOf(play)).toEqual({ value: ['A', { Bee: 'B', c: 'C' }, null] });
  });

  test('a sleep and a wait for a signal keep their iteration open', () => {
    const nap: NodeTraits = { pure: (_input, now) => sleepsUntil((now + 5_000) as typeof now) };
    const play = started(
      graph(simple({ over: [1, 2] }, { nodes: { nap, ask: { pure: awaits() } }, edges: ['work -> nap -> ask'] })),
    );
    play.ends('work@each[0]');
    expect(play.decide(play.woken('nap@each[0]'))).toEqual([]);
    play.advanceTime(seconds(5));
    play.decide(play.woken('nap@each[0]'));
    expect(play.statusOf('ask@each[0]')).toBe('waiting');
    expect(describeEvents(play.decide(play.signalled('ask@each[0]')))).toContain('ITERATION_STARTED each[1]');
  });

  test('a disabled loop continues at done', () => {
    const play = started(graph(simple({ over: [1] }, { nodes: { each: each({ over: [1] }, { isDisabled: true }) } })));
    expect(play.openIds()).toEqual(['after']);
  });
});

describe('nested loops', () => {
  const nested = (inner: NodeTraits['loop'], outer: NodeTraits['loop'] = { over: ['x', 'y'] }): GraphSpec => ({
    nodes: { outer: each(outer ?? {}), inner: { loop: { itemVariable: 'part', indexVariable: 'place', ...inner } } },
    edges: ['outer/loop -> inner', 'inner/loop -> work -> inner', 'inner/done -> sum -> outer', 'outer/done -> after'],
  });

  test('iterations of the inner loop belong to iterations of the outer one', () => {
    const play = started(graph(nested({ over: [1, 2] })));
    expect(play.openIds()).toEqual(['outer', 'inner@outer[0]', 'work@outer[0]/inner[0]']);
    expect(play.inputOf('work@outer[0]/inner[0]').context.all()).toEqual({
      input: {},
      item: 'x',
      index: 0,
      part: 1,
      place: 0,
    });
    for (const outer of [0, 1]) {
      for (const inner of [0, 1]) play.ends(`work@outer[${outer}]/inner[${inner}]`, finished(`${outer}${inner}`));
      expect(play.inputOf(`sum@outer[${outer}]`).context.get('__node_inner')).toMatchObject({
        output: [`${outer}0`, `${outer}1`],
      });
      play.ends(`sum@outer[${outer}]`, finished(outer));
    }
    expect(resultsOf(play)).toEqual({ value: [0, 1] });
  });

  test('an outer iteration that fails ends its inner iterations', () => {
    const drawing = nested({ over: [1, 2, 3], concurrency: 3 }, { over: ['x', 'y'], concurrency: 2 });
    const play = started(graph(drawing));
    expect(play.open()).toHaveLength(1 + 2 + 6);
    play.ends('work@outer[1]/inner[2]', failed());
    expect(play.node('outer')).toMatchObject({ status: 'failed', failure: { details: { index: 1, itemNodeId: 'inner' } } });
    expect(play.state.iterations.size).toBe(0);
    expect(play.status).toBe('failed');
  });
});

describe('a delay between items', () => {
  test('is a wait of the loop itself, after the first iteration', () => {
    const play = started(graph(simple({ over: [1, 2], delayMs: ms(30_000) })));
    expect(describeEvents(play.ends('work@each[0]'))).toEqual([
      'RUN_STATUS_CHANGED',
      'NODE_COMPLETED work@each[0]',
      'ITERATION_ENDED each[0]',
      'LOOP_PAUSED each',
    ]);
    play.advanceTime(seconds(29));
    expect(play.decide(play.woken('each'))).toEqual([]);
    play.advanceTime(seconds(1));
    expect(describeEvents(play.decide(play.woken('each')))).toEqual([
      'ITERATION_STARTED each[1]',
      'NODE_DISPATCHED work@each[1]',
    ]);
    expect(play.decide(play.woken('each'))).toEqual([]);
    expect(describeEvents(play.ends('work@each[1]'))).not.toContain('LOOP_PAUSED each');
  });
});

test('the state of a loop does not grow with its items', () => {
  const sizeAfter = (items: number): number => {
    const over = Array.from({ length: items }, (_, at) => at);
    const play = started(graph(simple({ over, concurrency: 10 })));
    let largest = 0;
    for (let at = 0; at < items; at += 10) {
      play.decide(...Array.from({ length: 10 }, (_, next) => play.ended(`work@each[${at + next}]`, finished({ at: at + next }))));
      const { pages: _pages, stored, ...rest } = JSON.parse(JSON.stringify(play.node('each'))).loop ?? { stored: [] };
      largest = Math.max(largest, JSON.stringify(rest).length + stored.length * 100 + play.state.nodes.size * 100);
    }
    expect(play.statusOf('each')).toBe('completed');
    expect(resultsOf(play)).toEqual({ value: over.map((at) => ({ at })) });
    return largest;
  };
  expect(sizeAfter(3_000)).toBeLessThan(sizeAfter(300) * 2);
});

test('the log of a loop folds to the same state, and a cancel ends every iteration', () => {
  const play = started(graph(simple({ over: [1, 2, 3], concurrency: 2 })));
  play.ends('work@each[0]');
  play.decide({ kind: 'cancel-requested' });
  expect(play.statuses('each', 'work@each[1]', 'work@each[2]')).toEqual(['cancelled', 'cancelled', 'cancelled']);
  expect(plain(foldOf(play.commits))).toEqual(plain(play.state));
  expect(play.now).toBe(dawn);
});

test('an end node after a loop ends the run with the loop’s results', () => {
  const end: NodeTraits = { pure: ({ context }) => ends({ all: context.get('results') ?? null }) };
  const play = started(graph(simple({ over: [1] }, { nodes: { after: end } })));
  play.ends('work@each[0]', finished('A'));
  expect(play.output).toEqual({ value: { all: ['A'] } });
});
