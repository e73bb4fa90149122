/** Which policy handles a failure, and what it means for the run. */
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { type NodeTraits, failed, finished, graph, completesAtOnce } from '../graph-builder.ts';
import { type GraphRunFixture, started } from '../graph-run-fixture.ts';

const chain = (b: NodeTraits, a: NodeTraits = {}) =>
  started(graph({ nodes: { start: completesAtOnce, a, b }, edges: ['start -> a -> b -> c'] }));

const blamed = (play: GraphRunFixture): unknown => play.error?.details?.['nodeId'];

test('skip: the children of a failed node are skipped, and the run fails and names the node', () => {
  const play = chain({ onParentFailure: 'skip' });
  play.ends('a', failed('provider_error'));
  expect(play.statuses('a', 'b', 'c')).toEqual(['failed', 'skipped', 'skipped']);
  expect(play.eventsOf('NODE_SKIPPED').map(({ reason }) => reason)).toEqual(['parent_not_successful', 'parent_not_successful']);
  expect(play.status).toBe('failed');
  expect(play.error).toMatchObject({ cause: 'provider_error', message: expect.stringContaining('a'), details: { nodeId: 'a' } });
});

test('skip is the default', () => {
  const play = chain({});
  play.ends('a', failed());
  expect(play.statusOf('b')).toBe('skipped');
});

test('propagate: the child fails with a cause of its own, and the run names the original node', () => {
  const play = chain({ onParentFailure: 'propagate' });
  play.ends('a', failed('provider_error'));
  expect(play.statuses('a', 'b', 'c')).toEqual(['failed', 'failed', 'skipped']);
  expect(play.node('b')).toMatchObject({ failure: { cause: 'upstream_failure', code: 'upstream_failure' } });
  expect([play.status, play.error?.cause, blamed(play)]).toEqual(['failed', 'provider_error', 'a']);
});

test('propagate down to the leaf: the run still names the original node', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, b: { onParentFailure: 'propagate' }, c: { onParentFailure: 'propagate' } },
      edges: ['start -> a -> b -> c'],
    }),
  );
  play.ends('a', failed('rate_limit'));
  expect(play.statuses('a', 'b', 'c')).toEqual(['failed', 'failed', 'failed']);
  expect([play.error?.cause, blamed(play)]).toEqual(['rate_limit', 'a']);
});

test('propagate follows the child’s own error edge', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, b: { onParentFailure: 'propagate' } },
      edges: ['start -> a -> b -> c', 'b/error -> rescue'],
    }),
  );
  play.ends('a', failed());
  expect(play.statuses('b', 'c', 'rescue')).toEqual(['failed', 'skipped', 'queued']);
  play.ends('rescue');
  expect(play.status).toBe('completed');
});

test('substitute_default: the child runs with an empty text for the missing value, and the run succeeds', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, b: { onParentFailure: 'substitute_default' } },
      edges: ['start -> a', { from: 'a -> b', targetParamLabel: 'text' }],
    }),
    {},
    { text: 'from the run' },
  );
  play.ends('a', failed());
  expect(play.inputOf('b').inputs).toEqual({ text: '' });
  play.ends('b');
  expect([play.statuses('a', 'b'), play.status]).toEqual([['failed', 'completed'], 'completed']);
});

test('substitute_default also applies if an earlier failure skipped the parent', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce, c: { onParentFailure: 'substitute_default' } }, edges: ['start -> a -> b -> c'] }),
  );
  play.ends('a', failed());
  expect(play.statuses('a', 'b', 'c')).toEqual(['failed', 'skipped', 'queued']);
  play.ends('c');
  expect(play.status).toBe('completed');
});

test('substitute_default does not run a branch that was not taken', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, check: { pure: finished(null, 'yes') }, b: { onParentFailure: 'substitute_default' } },
      edges: ['start -> check', 'check/no -> a -> b'],
    }),
  );
  expect([play.statuses('a', 'b'), play.status]).toEqual([['skipped', 'skipped'], 'completed']);
});

test.each(['a', 'b'])('a join with a failed and a completed parent follows its policy, with %s ending last', (last) => {
  for (const [onParentFailure, status] of [
    ['skip', 'skipped'],
    ['propagate', 'failed'],
    ['substitute_default', 'queued'],
  ] as const) {
    const play = started(
      graph({
        nodes: { start: completesAtOnce, join: { onParentFailure } },
        edges: ['start -> a -> join', 'start -> b -> join'],
      }),
    );
    for (const id of last === 'a' ? ['b', 'a'] : ['a', 'b']) play.ends(id, id === 'a' ? failed() : finished());
    expect(play.statusOf('join')).toBe(status);
  }
});

test('a join with an upstream-failed and a live edge runs only if its policy substitutes a default', () => {
  const edges = ['start -> a -> x -> join', 'start -> b -> join'];
  const run = (onParentFailure: 'skip' | 'substitute_default') => {
    const play = started(graph({ nodes: { start: completesAtOnce, join: { onParentFailure } }, edges }));
    play.ends('a', failed());
    play.ends('b');
    return play;
  };
  expect([run('skip').statuses('x', 'join'), run('skip').status]).toEqual([['skipped', 'skipped'], 'failed']);
  expect(run('substitute_default').statuses('x', 'join')).toEqual(['skipped', 'queued']);
});

test('the error edge handles the failure, which is readable under the node’s output variable', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, a: { outputVariable: 'answer' } },
      edges: ['start -> a -> b', 'a/error -> rescue'],
    }),
  );
  play.ends('a', failed('timeout'));
  expect(play.statuses('a', 'b', 'rescue')).toEqual(['timed_out', 'skipped', 'queued']);
  expect(play.inputOf('rescue').context.get('answer')).toEqual({
    success: false,
    error: { cause: 'timeout', message: 'it broke: timeout', attempts: 1 },
  });
  play.ends('rescue');
  expect(play.status).toBe('completed');
});

test('without an error edge a failure writes nothing under the output variable', () => {
  const play = chain({ onParentFailure: 'substitute_default' }, { outputVariable: 'answer' });
  play.ends('a', failed());
  expect(play.inputOf('b').context.get('answer')).toBeUndefined();
});

test('a node that finishes by the handle `error` has not failed', () => {
  const play = started(graph({ nodes: { start: completesAtOnce }, edges: ['start -> a -> b', 'a/error -> rescue'] }));
  play.ends('a', finished({ success: false }, 'error'));
  expect(play.statuses('a', 'b', 'rescue')).toEqual(['completed', 'skipped', 'queued']);
});

test('fail_workflow ends the run at once, error edge or not, and cancels open nodes', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, a: { errorHandling: 'fail_workflow' } },
      edges: ['start -> a', 'start -> busy', 'a/error -> rescue'],
    }),
  );
  play.ends('a', failed());
  expect(play.statuses('a', 'busy', 'rescue')).toEqual(['failed', 'cancelled', 'pending']);
  expect([play.status, blamed(play)]).toEqual(['failed', 'a']);
  expect(play.events.at(-1)?.type).toBe('RUN_FAILED');
  expect(play.eventsOf('NODE_FAILED')[0]).not.toHaveProperty('handle');
});

test('fail_workflow of a node that its parent failed names the original node', () => {
  const play = chain({ onParentFailure: 'propagate', errorHandling: 'fail_workflow' });
  play.ends('a', failed());
  expect([play.status, blamed(play)]).toEqual(['failed', 'a']);
});

test('a pure node that fails is handled like others, in the same commit', () => {
  const play = started(
    graph({ nodes: { start: completesAtOnce, a: { pure: failed('invalid') } }, edges: ['start -> a -> b', 'a/error -> rescue'] }),
  );
  expect([play.commits.length, play.statuses('a', 'b', 'rescue')]).toEqual([1, ['failed', 'skipped', 'queued']]);
  const halting = started(
    graph({
      nodes: { start: completesAtOnce, a: { pure: failed('invalid'), errorHandling: 'fail_workflow' } },
      edges: ['start -> a'],
    }),
  );
  expect([halting.commits.length, halting.status]).toEqual([1, 'failed']);
});

test('the run names the node whose failure skipped the leaf, not one that was handled', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce },
      edges: ['start -> handled', 'start -> failing', 'handled/error -> join', 'failing -> join'],
    }),
  );
  play.ends('handled', failed('timeout'));
  play.ends('failing', failed('provider_error'));
  expect([play.statusOf('join'), blamed(play)]).toEqual(['skipped', 'failing']);
});

test('the run does not name a node whose failure was substituted', () => {
  const play = started(
    graph({
      nodes: { start: completesAtOnce, defaulted: { onParentFailure: 'substitute_default' } },
      edges: ['start -> handled -> defaulted -> join', 'start -> failing -> cut -> between -> join -> leaf'],
    }),
  );
  play.ends('handled', failed('timeout'));
  play.ends('defaulted', finished(null, 'elsewhere'));
  play.ends('failing', failed('provider_error'));
  expect([play.statuses('join', 'leaf'), blamed(play)]).toEqual([['skipped', 'skipped'], 'failing']);
});

test('the details of a failure are kept beside the name of its node', () => {
  const play = chain({});
  const details: JsonObject = { status: 503 };
  play.ends('a', { kind: 'failed', failure: { cause: 'provider_error', message: 'busy', code: 'http_503', details } });
  expect(play.error).toEqual({
    cause: 'provider_error',
    message: 'node a failed: busy',
    code: 'http_503',
    details: { status: 503, nodeId: 'a' },
  });
});

test.each([
  ['before', ['start -> strict', 'start -> pure', 'start -> work']],
  ['after', ['start -> work', 'start -> pure', 'start -> strict']],
])('a node that ends the run %s its siblings were considered leaves them unchanged', (_when, edges) => {
  const nodes: Record<string, NodeTraits> = {
    start: completesAtOnce,
    strict: { pure: failed('invalid'), errorHandling: 'fail_workflow' },
    pure: completesAtOnce,
  };
  const play = started(graph({ nodes, edges: [...edges, 'pure -> more', 'strict/error -> rescue'] }));
  expect(play.status).toBe('failed');
  expect(play.statuses('work', 'more', 'rescue')).toEqual(['pending', 'pending', 'pending']);
});

test('a root that ends the run leaves later roots unchanged', () => {
  const strict: NodeTraits = { pure: failed('invalid'), errorHandling: 'fail_workflow' };
  const play = started(
    graph({ nodes: { strict, pure: completesAtOnce, work: {} }, edges: ['strict -> a', 'pure -> b', 'work -> c'] }),
  );
  expect([play.status, ...play.statuses('pure', 'work', 'b')]).toEqual(['failed', 'pending', 'pending', 'pending']);
});
