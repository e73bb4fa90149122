/** An attempt sees the fold up to its dispatch event, however late and often it runs. */
import { expect, test } from 'vitest';
import { PayloadsNeeded, contextAt } from '../../../lib/engine/graph/context.ts';
import { topLevel } from '../../../lib/engine/ids.ts';
import type { JsonValue, PayloadRef } from '../../../lib/engine/json.ts';
import { failed, finished, graph, completesAtOnce, threeAttempts } from '../graph-builder.ts';
import { GraphRunFixture, started } from '../graph-run-fixture.ts';

const parallel = () =>
  started(
    graph({
      nodes: {
        start: completesAtOnce,
        slow: { retry: threeAttempts },
        fast: { outputVariable: 'news' },
        next: {},
      },
      edges: ['start -> slow', 'start -> fast -> next', { from: 'fast -> join', targetParamLabel: 'news' }, 'start -> join'],
    }),
  );

test('neither an attempt nor its retry sees a completion after the dispatch', () => {
  const play = parallel();
  play.ends('fast', finished('late'));
  expect(play.inputOf('slow').context.get('news')).toBeUndefined();
  play.ends('slow', failed());
  expect(play.node('slow')).toMatchObject({ attempt: 2 });
  expect(play.inputOf('slow').context.get('news')).toBeUndefined();
  expect(play.inputOf('slow').context.get('__node_fast')).toBeUndefined();
  expect(play.inputOf('slow').context.keys({ hidden: true })).not.toContain('__node_fast');
  expect(play.inputOf('next').context.get('news')).toBe('late');
});

test('events during an attempt do not change its context', () => {
  const play = parallel();
  const before = play.inputOf('slow').context.all({ hidden: true });
  play.decide(play.started('slow'));
  play.ends('fast', finished('late'));
  play.ends('slow', failed());
  expect(play.inputOf('slow').context.all({ hidden: true })).toEqual(before);
});

test('a late parent of an any-join is not among the join’s inputs', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, join: { joinMode: 'any', merge: 'array' } },
      edges: [
        'start -> a',
        'start -> b',
        { from: 'a -> join', targetParamLabel: 'all' },
        { from: 'b -> join', targetParamLabel: 'all' },
      ],
    }),
  );
  play.ends('a', finished('first'));
  play.ends('b', finished('second'));
  expect(play.inputOf('join').inputs).toEqual({ all: ['first'] });
});

test('the latest write of a key wins, in log order', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, a: { outputVariable: 'x' }, b: { outputVariable: 'x' } },
      edges: ['start -> a -> seesA -> join', 'start -> b -> seesB -> join'],
    }),
  );
  play.ends('b', finished('from b'));
  play.ends('a', finished('from a'));
  expect([play.inputOf('seesB').context.get('x'), play.inputOf('seesA').context.get('x')]).toEqual(['from b', 'from a']);
});

test('the result of each node is readable by its id, and hidden by default', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, check: { pure: finished(null, 'yes') }, a: { outputVariable: 'x' } },
      edges: ['start -> check', 'check/yes -> a -> bad', 'check/no -> off', 'bad/error -> last'],
    }),
    {},
    { n: 1 },
  );
  play.ends('a', finished({ deep: true }));
  play.ends('bad', failed());
  const { context } = play.inputOf('last');
  expect(context.get('__node_a')).toEqual({ status: 'completed', output: { deep: true } });
  expect(context.get('__node_bad')).toEqual({ status: 'failed', output: null });
  expect(context.get('__node_off')).toEqual({ status: 'skipped', output: null });
  expect([context.get('__node_last'), context.get('__node_nobody'), context.get('__node_#')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(context.keys()).toEqual(['input', 'x']);
  expect(context.all()).toEqual({ input: { n: 1 }, x: { deep: true } });
  expect(context.keys({ hidden: true }).toSorted()).toEqual(
    ['input', 'x', '__node_start', '__node_check', '__node_a', '__node_bad', '__node_off'].toSorted(),
  );
  expect(Object.keys(context.all({ hidden: true })).toSorted()).toEqual(context.keys({ hidden: true }).toSorted());
});

test('a key without a write is undefined, even one that every object has', () => {
  const { context } = parallel().inputOf('slow');
  for (const key of ['nothing', 'constructor', 'toString', '__proto__', '']) expect(context.get(key)).toBeUndefined();
});

const stored = (ref: PayloadRef) => ({ kind: 'finished' as const, output: { ref, bytes: 9_000 }, handle: 'output' });
const refs: readonly PayloadRef[] = ['item:input', 'blob:a', 'blob:b'];
const answers = new Map<PayloadRef, JsonValue>([
  ['item:input', { n: 1 }],
  ['blob:a', 'A'],
  ['blob:b', 'B'],
]);

const withStored = (loaded = new Map<PayloadRef, JsonValue>()): GraphRunFixture => {
  const play = new GraphRunFixture(
    graph({
      nodes: { start: completesAtOnce, a: { outputVariable: 'a' }, b: { outputVariable: 'b' } },
      edges: [
        'start -> a',
        'start -> b',
        { from: 'a -> join', targetParamLabel: 'x' },
        { from: 'b -> join', targetParamLabel: 'y' },
        'a -> plain',
      ],
    }),
    { loaded },
  );
  play.start({ stored: { ref: 'item:input', bytes: 900 } });
  play.ends('a', stored('blob:a'));
  play.ends('b', stored('blob:b'));
  return play;
};

/** The references that a read requests. */
const asks = (question: () => unknown): readonly PayloadRef[] => {
  try {
    question();
  } catch (error) {
    if (error instanceof PayloadsNeeded) return error.refs;
    throw error;
  }
  return [];
};

test('a read requests all missing values together, by reference', () => {
  const play = withStored();
  const context = contextAt(play.state, topLevel, play.state.nextEventId, new Map());
  expect(asks(() => context.get('a'))).toEqual(['blob:a']);
  expect(asks(() => context.get('nothing'))).toEqual([]);
  expect(asks(() => context.all())).toEqual(refs);
  expect(asks(() => play.inputOf('join').inputs)).toEqual(refs);
  expect(asks(() => withStored(new Map([['blob:a', 'A']])).inputOf('join').inputs)).toEqual(['item:input', 'blob:b']);
});

test('with the values loaded the read succeeds', () => {
  const play = withStored(answers);
  expect(play.inputOf('join').inputs).toEqual({ n: 1, x: 'A', y: 'B' });
  expect(play.inputOf('join').context.all()).toEqual({ input: { n: 1 }, a: 'A', b: 'B' });
});

test('a loaded null is a value', () => {
  const play = withStored(new Map<PayloadRef, JsonValue>([...answers, ['blob:a', null]]));
  expect(play.inputOf('join').inputs).toEqual({ n: 1, x: null, y: 'B' });
});

test('reading keys loads no value', () => {
  const play = withStored();
  expect(contextAt(play.state, topLevel, play.state.nextEventId, new Map()).keys()).toEqual(['input', 'a', 'b']);
});

test('a node without labelled edges requests no value', () => {
  expect(asks(() => withStored().inputOf('plain'))).toEqual([]);
});
