/** Effects of a failure: the failure policy of each child, the mode of its join and the error handling of the failed node. */
import { expect } from 'vitest';
import { type Topology, finishedWith, failedWith, singleAttempt, returnsInputs } from '../topology.ts';

const policies = ['skip', 'propagate', 'substitute_default'] as const;
const modes = ['all', 'any'] as const;

/** The status of a node without a required parent value, by its policy. */
const fate = { skip: 'skipped', propagate: 'failed', substitute_default: 'completed' } as const;
const inWords = {
  skip: 'is skipped',
  propagate: 'fails too',
  substitute_default: 'substitutes an empty text',
} as const;

const into = (policy: (typeof policies)[number], joinMode: (typeof modes)[number]): Pick<Topology, 'edges' | 'nodes'> => ({
  edges: [
    'start -> a',
    'start -> b',
    { from: 'a -> join', targetParamLabel: 'x' },
    { from: 'b -> join', targetParamLabel: 'y' },
    'join -> end',
  ],
  nodes: { a: singleAttempt, b: singleAttempt, join: { ...singleAttempt, joinMode, onParentFailure: policy } },
});

const named = (policy: string): string => policy.replace('_', '-');

const oneFails = policies.flatMap((policy) =>
  modes.map((joinMode): Topology => {
    const isAny = joinMode === 'any';
    return {
      name: `one-parent-fails-${named(policy)}-${joinMode}`,
      description: isAny
        ? `A join of mode any with policy ${policy} runs with the parent that completes.`
        : `A join of mode all with policy ${policy} ${inWords[policy]} when one of two parents fails.`,
      ...into(policy, joinMode),
      replies: { a: failedWith(), join: returnsInputs },
      verify: ({ status, statusOf, inputsOf }) => {
        const expected = isAny ? 'completed' : fate[policy];
        expect([statusOf('join'), status]).toEqual([expected, expected === 'completed' ? 'completed' : 'failed']);
        if (expected !== 'completed') return;
        expect(inputsOf('join')).toEqual(policy === 'substitute_default' ? { x: '', y: 'b' } : { y: 'b' });
      },
    };
  }),
);

const allFail = policies.flatMap((policy) =>
  modes.map((joinMode): Topology => ({
    name: `both-parents-fail-${named(policy)}-${joinMode}`,
    description: `A join of mode ${joinMode} with policy ${policy} ${inWords[policy]} when both parents fail.`,
    ...into(policy, joinMode),
    replies: { a: failedWith(), b: failedWith('provider_error'), join: returnsInputs },
    verify: ({ status, statusOf, inputsOf, of }) => {
      expect(statusOf('join')).toBe(fate[policy]);
      expect(status).toBe(policy === 'substitute_default' ? 'completed' : 'failed');
      if (policy === 'substitute_default') expect(inputsOf('join')).toEqual({ x: '', y: '' });
      if (policy === 'propagate') expect(of('node.failed', 'join')).toMatchObject([{ failure: { code: 'upstream_failure' } }]);
    },
  })),
);

const starved = policies.map((policy): Topology => ({
  name: `skipped-parent-${named(policy)}`,
  description: `When a parent is skipped because of an earlier failure, a node with policy ${policy} ${
    policy === 'substitute_default' ? 'substitutes an empty text' : 'is skipped too'
  }.`,
  edges: ['start -> a -> cut', { from: 'cut -> heir', targetParamLabel: 'x' }, 'heir -> end'],
  nodes: { a: singleAttempt, heir: { onParentFailure: policy } },
  replies: { a: failedWith(), heir: returnsInputs },
  verify: ({ status, statusOf, of }) => {
    const runs = policy === 'substitute_default';
    expect([status, statusOf('cut'), statusOf('heir')]).toEqual([
      runs ? 'completed' : 'failed',
      'skipped',
      runs ? 'completed' : 'skipped',
    ]);
    expect(of('node.skipped', 'cut')).toMatchObject([{ reason: 'parent_not_successful' }]);
  },
}));

const starvedJoins = policies.map((policy): Topology => ({
  name: `join-behind-a-skipped-parent-${named(policy)}`,
  description: `A join with policy ${policy} ${
    policy === 'substitute_default' ? 'substitutes an empty text' : 'is skipped, and the run fails,'
  } if one parent succeeded and the other was skipped because of a failure that no error edge handles.`,
  edges: [
    'start -> a -> cut',
    'start -> b',
    { from: 'cut -> join', targetParamLabel: 'x' },
    { from: 'b -> join', targetParamLabel: 'y' },
    'join -> end',
  ],
  nodes: { a: singleAttempt, join: { onParentFailure: policy } },
  replies: { a: failedWith(), b: finishedWith('b'), join: returnsInputs },
  verify: ({ status, statusOf, inputsOf }) => {
    const runs = policy === 'substitute_default';
    expect([status, statusOf('cut'), statusOf('join')]).toEqual(
      runs ? ['completed', 'skipped', 'completed'] : ['failed', 'skipped', 'skipped'],
    );
    if (runs) expect(inputsOf('join')).toEqual({ x: '', y: 'b' });
  },
}));

const handling = (['continue', 'fail_workflow'] as const).flatMap((mode) =>
  [true, false].map((hasEdge): Topology => {
    const isTaken = mode === 'continue' && hasEdge;
    return {
      name: `error-handling-${named(mode)}-${hasEdge ? 'with' : 'without'}-an-error-edge`,
      description: isTaken
        ? 'A failure with the handling continue takes its error edge, and the output variable holds the failure.'
        : mode === 'continue'
          ? 'After a failure without an error edge, the children follow their policy and independent branches continue.'
          : `A failure that fails the workflow ends the run at once${hasEdge ? ', even with an error edge' : ''}.`,
      edges: ['start -> a -> next', 'start -> nap -> other', ...(hasEdge ? ['a/error -> end'] : [])],
      nodes: {
        a: { ...singleAttempt, errorHandling: mode, outputVariable: 'result' },
        nap: { type: 'delay', delaySeconds: 10 },
        ...(hasEdge ? { end: { outputParameters: [{ name: 'cause', sourceVariable: '{{ctx.result.error.cause}}' }] } } : {}),
      },
      replies: { a: failedWith('rate_limit') },
      verify: ({ status, runsOf, statusOf, output }) => {
        expect(status).toBe(isTaken ? 'completed' : 'failed');
        expect(runsOf('other')).toBe(mode === 'continue' ? 1 : 0);
        expect(statusOf('next')).toBe(mode === 'continue' ? 'skipped' : 'pending');
        if (isTaken) expect(output).toEqual({ cause: 'rate_limit' });
      },
    };
  }),
);

export const failures: readonly Topology[] = [
  ...oneFails,
  ...allFail,
  ...starved,
  ...starvedJoins,
  ...handling,
  {
    name: 'substitute-default-chain',
    description: 'Each node of a chain substitutes a default for its failed parent, and the last node completes the run.',
    edges: ['start -> a', { from: 'a -> b', targetParamLabel: 'x' }, { from: 'b -> c', targetParamLabel: 'y' }, 'c -> end'],
    nodes: {
      a: singleAttempt,
      b: { ...singleAttempt, onParentFailure: 'substitute_default' },
      c: { ...singleAttempt, onParentFailure: 'substitute_default' },
    },
    replies: { a: failedWith(), b: failedWith(), c: returnsInputs },
    verify: ({ status, inputsOf }) => expect([status, inputsOf('b'), inputsOf('c')]).toEqual(['completed', { x: '' }, { y: '' }]),
  },
  {
    name: 'propagate-chain',
    description: 'When a failure propagates through a chain of nodes, the failed run reports the first cause.',
    edges: ['start -> a -> b -> c -> d'],
    nodes: {
      a: singleAttempt,
      b: { onParentFailure: 'propagate' },
      c: { onParentFailure: 'propagate' },
      d: { onParentFailure: 'propagate' },
    },
    replies: { a: failedWith('provider_error') },
    verify: ({ of, statusOf }) => {
      expect(['b', 'c', 'd'].map(statusOf)).toEqual(['failed', 'failed', 'failed']);
      expect(of('run.failed')).toMatchObject([{ error: { cause: 'provider_error', details: { nodeId: 'a' } } }]);
    },
  },
  {
    name: 'propagated-failure-is-rescued',
    description: 'The error edge of a node handles a failure that its parent propagated.',
    edges: ['start -> a -> b -> c', 'b/error -> rescue'],
    nodes: { a: singleAttempt, b: { onParentFailure: 'propagate' } },
    replies: { a: failedWith() },
    verify: ({ status, runsOf, statusOf }) =>
      expect([status, runsOf('rescue'), statusOf('c')]).toEqual(['completed', 1, 'skipped']),
  },
  {
    name: 'rescue-that-fails',
    description: 'When an error handler fails, the run fails with the cause of the handler.',
    edges: ['start -> a -> next', 'a/error -> rescue'],
    nodes: { a: singleAttempt, rescue: singleAttempt },
    replies: { a: failedWith(), rescue: failedWith('forbidden') },
    verify: ({ of }) =>
      expect(of('run.failed')).toMatchObject([{ error: { cause: 'forbidden', details: { nodeId: 'rescue' } } }]),
  },
  {
    name: 'failing-leaf-beside-a-good-end',
    description: 'A failed leaf fails the run, although another branch reaches its end node.',
    edges: ['start -> a', 'start -> b -> end'],
    nodes: { a: singleAttempt },
    replies: { a: failedWith(), b: finishedWith('fine') },
    verify: ({ status, statusOf }) => expect([status, statusOf('end')]).toEqual(['failed', 'completed']),
  },
  {
    name: 'pure-node-that-fails',
    description: 'A delay with an invalid duration fails in the commit of its parent without a retry, and its child is skipped.',
    edges: ['start -> nap -> next'],
    nodes: { nap: { type: 'delay', delayType: 'dynamic', delayVariable: '{{ctx.input.wait}}' } },
    input: { wait: 'for long' },
    verify: ({ status, statusOf, of }) => {
      expect([status, statusOf('nap'), statusOf('next')]).toEqual(['failed', 'failed', 'skipped']);
      expect(of('node.retried')).toEqual([]);
    },
  },
];
