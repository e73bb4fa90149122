/** A run ends when no node is open: its leaves decide its status, its end nodes its output. */
import { expect, test } from 'vitest';
import type { JsonValue, PayloadRef } from '../../../lib/engine/json.ts';
import { PayloadsNeeded } from '../../../lib/engine/graph/context.ts';
import { ends, failed, finished, graph, completesAtOnce } from '../graph-builder.ts';
import { GraphRunFixture, started, types } from '../graph-run-fixture.ts';

const forked = (a: Parameters<GraphRunFixture['ends']>[1], b: Parameters<GraphRunFixture['ends']>[1]) => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a', 'start -> b'] }));
  play.ends('a', a);
  play.ends('b', b);
  return play;
};

test('a run whose leaves all completed succeeds, with or without end nodes', () => {
  const play = forked(finished('x'), finished('y'));
  expect([play.status, play.output]).toEqual(['completed', { value: null }]);
});

test('a failed leaf fails the run even if other leaves completed', () => {
  const play = forked(failed('forbidden'), ends({ ok: true }));
  expect([play.status, play.error?.cause, play.error?.details]).toEqual(['failed', 'forbidden', { nodeId: 'a' }]);
});

test('a timed-out leaf fails the run like a failed one', () => {
  expect(forked(finished(), failed('timeout')).error).toMatchObject({ cause: 'timeout', details: { nodeId: 'b' } });
});

test('a leaf skipped by a branch counts as success', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, check: { pure: finished(null, 'yes') } },
      edges: ['start -> check', 'check/yes -> a', 'check/no -> b'],
    }),
  );
  play.ends('a');
  expect([play.statusOf('b'), play.status]).toEqual(['skipped', 'completed']);
});

test('a leaf skipped because its parent failed fails the run, although the failed node is no leaf', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b', 'start -> c'] }));
  play.ends('a', failed());
  expect(play.status).toBe('running');
  play.ends('c');
  expect([play.status, play.error?.details]).toEqual(['failed', { nodeId: 'a' }]);
});

test('a run whose inner failure was handled by an error edge succeeds', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a', 'a/error -> rescue'] }));
  play.ends('a', failed());
  play.ends('rescue');
  expect(play.status).toBe('completed');
});

test('of several failed leaves the first in the definition is named, whichever ended first', () => {
  for (const order of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a', 'start -> b'] }));
    for (const id of order) play.ends(id, failed());
    expect(play.error?.details).toEqual({ nodeId: 'a' });
  }
});

test('the output of a single end node is the run’s output', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce, end: { pure: ends({ total: 3 }) } }, edges: ['start -> a -> end'] }),
  );
  expect(types(play.ends('a')).slice(-3)).toEqual(['NODE_COMPLETED', 'RUN_STATUS_CHANGED', 'RUN_COMPLETED']);
  expect(play.output).toEqual({ value: { total: 3 } });
});

test('an end node that was not reached adds no output', () => {
  const play = started(
    graph({
      nodes: {
        start: completesAtOnce,
        check: { pure: finished(null, 'yes') },
        good: { pure: ends('yes') },
        bad: { pure: ends('no', 'error') },
      },
      edges: ['start -> check', 'check/yes -> good', 'check/no -> bad'],
    }),
  );
  expect([play.status, play.output, play.commits.length]).toEqual(['completed', { value: 'yes' }, 1]);
});

test.each([
  ['a', 'b'],
  ['b', 'a'],
])('the first end node does not end the run; all outputs are merged, later ones winning: %s before %s', (...order) => {
  const end = (own: string) => ({ pure: ends({ [own]: 1, last: own }) });
  const play = started(
    graph({
      nodes: { start: completesAtOnce, endA: end('a'), endB: end('b') },
      edges: ['start -> a -> endA', 'start -> b -> endB'],
    }),
  );
  play.ends(order[0] ?? '');
  expect(play.status).toBe('running');
  play.ends(order[1] ?? '');
  expect(play.output).toEqual({ value: { a: 1, b: 1, last: order[1] } });
});

test('an output named like an object setter is kept', () => {
  const end = (text: string) => ({ pure: ends(JSON.parse(text)) });
  const play = started(
    graph({
      nodes: { start: completesAtOnce, endA: end('{"__proto__":{"a":1}}'), endB: end('{"b":2}') },
      edges: ['start -> endA', 'start -> endB'],
    }),
  );
  expect(JSON.stringify(play.output)).toBe('{"value":{"__proto__":{"a":1},"b":2}}');
});

test('an end node with status error fails the run and is named', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce, end: { pure: ends({}, 'error') } }, edges: ['start -> a -> end', 'start -> b'] }),
  );
  play.ends('a');
  expect(play.status).toBe('running');
  play.ends('b');
  expect([play.status, play.error]).toEqual([
    'failed',
    { cause: 'error', code: 'ended_in_error', message: 'end node end ends the run as an error', details: { nodeId: 'end' } },
  ]);
});

test('an end node’s output is the context’s `output`, and no other node writes it', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, end: { pure: ends({ total: 3 }), outputVariable: 'mine' } },
      edges: ['start -> end', 'start -> a -> b'],
    }),
  );
  play.ends('a', finished('x'));
  const { context } = play.inputOf('b');
  expect([context.get('output'), context.get('mine')]).toEqual([{ total: 3 }, undefined]);
});

test('a disabled node passes null on, runs nothing, and may be an end node', () => {
  const play = started(
    graph({
      nodes: {
        start: completesAtOnce,
        off: { isDisabled: true, outputVariable: 'off' },
        end: { isDisabled: true, pure: ends('never') },
      },
      edges: ['start -> off -> a -> end', 'off/error -> rescue'],
    }),
  );
  expect(play.statuses('off', 'a', 'rescue')).toEqual(['completed', 'queued', 'skipped']);
  expect(play.inputOf('a').context.get('off')).toBeNull();
  play.ends('a');
  expect([play.status, play.output]).toEqual(['completed', { value: null }]);
});

test('a run of pure nodes ends in its first commit', () => {
  const play = started(graph({ nodes: { start: completesAtOnce, end: { pure: ends('done') } }, edges: ['start -> end'] }));
  expect([play.commits.length, play.status]).toEqual([1, 'completed']);
});

test('the last event of a run is its end, directly after the status change', () => {
  for (const play of [forked(finished(), finished()), forked(failed(), finished())]) {
    expect(types(play.events).slice(-2)).toEqual([
      'RUN_STATUS_CHANGED',
      play.status === 'completed' ? 'RUN_COMPLETED' : 'RUN_FAILED',
    ]);
  }
});

test('a single offloaded end output is passed on unchanged; several are requested together', () => {
  const stored = (ref: PayloadRef) => ({
    pure: { ...ends(), kind: 'finished' as const, handle: null, end: 'success' as const, output: { ref, bytes: 9 } },
  });
  const one = started(graph({ nodes: { start: completesAtOnce, end: stored('blob:1') }, edges: ['start -> end'] }));
  expect(one.output).toEqual({ ref: 'blob:1', bytes: 9 });

  const several = graph({
    nodes: { start: completesAtOnce, x: stored('blob:x'), y: stored('blob:y') },
    edges: ['start -> x', 'start -> y'],
  });
  expect(() => started(several)).toThrow(new PayloadsNeeded(['blob:x', 'blob:y']));
  const loaded = new Map<PayloadRef, JsonValue>([
    ['blob:x', { x: 1 }],
    ['blob:y', { y: 2 }],
  ]);
  const play = new GraphRunFixture(several, { loaded });
  play.start();
  expect(play.output).toEqual({ value: { x: 1, y: 2 } });
});
