/** Start and end of a run: several end nodes, no end node, no start node, branches that are not taken, and disabled nodes. */
import { expect } from 'vitest';
import { seconds } from '../../../lib/engine/time.ts';
import { type Topology, choice, finishedWith, failedWith, singleAttempt, returnsInputs } from '../topology.ts';

const saying = (name: string, value: string) => ({ outputParameters: [{ name, sourceVariable: `{{ctx.${value}}}` }] });
const disabled = { isDisabled: true };

export const startAndEnd: readonly Topology[] = [
  {
    name: 'several-ends',
    description: 'The output of a run with several end nodes has the outputs of all end nodes that it reached.',
    edges: ['start -> a -> end1', 'start -> b -> end2'],
    nodes: { a: { outputVariable: 'va' }, b: { outputVariable: 'vb' }, end1: saying('left', 'va'), end2: saying('right', 'vb') },
    verify: ({ output }) => expect(output).toEqual({ left: 'a', right: 'b' }),
  },
  {
    name: 'several-ends-of-one-name',
    description: 'When two end nodes write the same name, the later one wins, and the first does not end the run.',
    edges: ['start -> nap -> a -> end1', 'start -> b -> end2'],
    nodes: {
      nap: { type: 'delay', delaySeconds: 5 },
      a: { outputVariable: 'va' },
      b: { outputVariable: 'vb' },
      end1: saying('same', 'va'),
      end2: saying('same', 'vb'),
    },
    verify: ({ output, runsOf }) => expect([output, runsOf('a')]).toEqual([{ same: 'a' }, 1]),
  },
  {
    name: 'an-end-as-an-error',
    description:
      'An end node with the status error fails the run after all nodes end, although another end node has the status success.',
    edges: ['start -> bad', 'start -> nap -> a -> end'],
    nodes: { bad: { type: 'end', status: 'error' }, nap: { type: 'delay', delaySeconds: 5 } },
    verify: ({ status, of, runsOf }) => {
      expect([status, runsOf('a')]).toEqual(['failed', 1]);
      expect(of('run.failed')).toMatchObject([{ error: { code: 'ended_in_error', details: { nodeId: 'bad' } } }]);
    },
  },
  {
    name: 'an-end-that-completes-the-run',
    description:
      'An end node with endsRun completes the run with its output: waiting nodes and child runs are cancelled, and a late result has no effect.',
    edges: ['start -> gate -> won', 'start -> pause -> slow -> late', 'start -> nap -> late', 'start -> call -> late'],
    nodes: {
      gate: { type: 'signal', name: 'won', outputVariable: 'winner' },
      won: { type: 'end', endsRun: true, outputParameters: [{ name: 'winner', sourceVariable: '{{ctx.winner.payload}}' }] },
      pause: { type: 'delay', delaySeconds: 5 },
      nap: { type: 'delay', delayMinutes: 5 },
      call: { type: 'subflow', workflowName: 'child' },
    },
    calls: [{ name: 'child', edges: ['begin -> w'], nodes: { begin: { type: 'start' }, w: { type: 'signal', name: 'never' } } }],
    replies: {
      slow: async ({ actions, lasts }) => {
        await actions.send('won', 'ann');
        await lasts(seconds(20));
        return finishedWith('too late');
      },
    },
    verify: ({ status, output, statusOf, called, runsOf }) => {
      expect([status, output]).toEqual(['completed', { winner: 'ann' }]);
      expect(['slow', 'nap', 'call'].map(statusOf)).toEqual(['cancelled', 'cancelled', 'cancelled']);
      expect([called.map((each) => each.status), runsOf('late')]).toEqual([['cancelled'], 0]);
    },
  },
  {
    name: 'an-error-end-that-ends-the-run',
    description: 'An end node with endsRun and the status error fails the run at once and cancels all open nodes.',
    edges: ['start -> reserve -> approval -> mail', 'start -> charge -> approval', 'charge/error -> refused'],
    nodes: {
      charge: singleAttempt,
      approval: { type: 'signal', name: 'approved', joinMode: 'any' },
      refused: { type: 'end', status: 'error', endsRun: true },
    },
    replies: { charge: failedWith() },
    verify: ({ status, statusOf, of, runsOf }) => {
      expect([status, statusOf('approval'), runsOf('mail')]).toEqual(['failed', 'cancelled', 0]);
      expect(of('run.failed')).toMatchObject([{ error: { code: 'ended_in_error', details: { nodeId: 'refused' } } }]);
    },
  },
  {
    name: 'an-end-that-is-not-reached',
    description: 'An end node on a branch that is not taken adds no output, and the run completes.',
    edges: ['start -> check', 'check/yes -> bad', 'check/default -> end'],
    nodes: { check: choice('take', 'yes'), bad: { type: 'end', status: 'error' } },
    verify: ({ status, statusOf }) => expect([status, statusOf('bad')]).toEqual(['completed', 'skipped']),
  },
  {
    name: 'no-end',
    description: 'A run without an end node has no output and completes when its last node ends.',
    edges: ['start -> a -> b'],
    verify: ({ status, output }) => expect([status, output]).toEqual(['completed', null]),
  },
  {
    name: 'no-start',
    description: 'Without a start node, each node without an incoming edge starts with the run.',
    edges: ['a -> join', 'b -> join'],
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['a', 'b', 'join']),
  },
  {
    name: 'one-node',
    description: 'A workflow can have a single node.',
    edges: [],
    nodes: { alone: {} },
    verify: ({ status, runsOf }) => expect([status, runsOf('alone')]).toEqual(['completed', 1]),
  },
  {
    name: 'start-and-end-alone',
    description: 'A run without work ends in its first commit and makes no attempt.',
    edges: ['start -> end'],
    nodes: { end: saying('said', 'input.word') },
    input: { word: 'hello' },
    verify: ({ status, output, attempts }) => expect([status, output, attempts]).toEqual(['completed', { said: 'hello' }, []]),
  },
  {
    name: 'a-leaf-that-no-branch-reaches',
    description: 'A leaf on a branch that is not taken is skipped and counts as success.',
    edges: ['start -> check', 'check/yes -> a -> leaf', 'check/default -> b'],
    nodes: { check: choice('take', 'yes') },
    verify: ({ status, of }) => {
      expect(status).toBe('completed');
      expect(of('node.skipped', 'leaf')).toMatchObject([{ reason: 'branch_not_taken' }]);
    },
  },
  {
    name: 'a-leaf-that-a-failure-cuts-off',
    description: 'A leaf that is skipped because its parent failed fails the run.',
    edges: ['start -> a -> leaf', 'start -> b'],
    nodes: { a: singleAttempt },
    replies: { a: failedWith() },
    verify: ({ status, of }) => {
      expect(status).toBe('failed');
      expect(of('node.skipped', 'leaf')).toMatchObject([{ reason: 'parent_not_successful' }]);
    },
  },
  {
    name: 'a-choice-that-nothing-follows',
    description: 'A choice whose selected branch has no node completes the run, and the other branches are skipped.',
    edges: ['start -> check', 'check/yes -> a'],
    nodes: { check: choice('take', 'yes') },
    verify: ({ status, attempts, statusOf }) => expect([status, attempts, statusOf('a')]).toEqual(['completed', [], 'skipped']),
  },
  {
    name: 'large-values',
    description:
      'A value that is too large for a commit is passed by reference, and each node that needs it gets the whole value.',
    edges: ['start -> a', { from: 'a -> b', targetParamLabel: 'text' }, 'b -> end'],
    nodes: { a: { outputVariable: 'large' }, end: saying('all', 'large') },
    replies: {
      a: finishedWith('x'.repeat(100_000)),
      b: ({ inputs: { text } }) => finishedWith({ length: typeof text === 'string' ? text.length : 0 }),
    },
    verify: ({ output, of }) => {
      expect(of('node.completed', 'b')).toMatchObject([{ output: { value: { length: 100_000 } } }]);
      expect(output).toEqual({ all: 'x'.repeat(100_000) });
    },
  },
];

export const disabledNodes: readonly Topology[] = [
  {
    name: 'disabled-first',
    description: 'A disabled start node passes the run on to the next nodes.',
    edges: ['start -> a -> end'],
    nodes: { start: disabled },
    verify: ({ status, runsOf }) => expect([status, runsOf('a')]).toEqual(['completed', 1]),
  },
  {
    name: 'disabled-middle',
    description: 'A disabled node does not run and passes null to the next nodes.',
    edges: ['start -> a -> b', { from: 'b -> c', targetParamLabel: 'x' }],
    nodes: { b: disabled },
    replies: { c: returnsInputs },
    verify: ({ attempts, inputsOf }) => {
      expect(attempts.map(({ node }) => node)).toEqual(['a', 'c']);
      expect(inputsOf('c')).toEqual({ x: null });
    },
  },
  {
    name: 'disabled-last',
    description: 'A disabled end node adds no output, and the run completes.',
    edges: ['start -> a -> end'],
    nodes: { end: { isDisabled: true, status: 'error' } },
    verify: ({ status, output }) => expect([status, output]).toEqual(['completed', null]),
  },
  {
    name: 'disabled-before-a-join',
    description: 'A join counts a disabled parent as completed.',
    edges: ['start -> a -> join', 'start -> b -> join'],
    nodes: { a: disabled },
    verify: ({ attempts }) => expect(attempts.map(({ node }) => node)).toEqual(['b', 'join']),
  },
  {
    name: 'disabled-before-an-any-join',
    description: 'A disabled parent ends first and starts a join of mode any.',
    edges: ['start -> a -> join', 'start -> b -> join'],
    nodes: { a: disabled, join: { joinMode: 'any' } },
    verify: ({ runsOf, of }) => {
      expect(runsOf('join')).toBe(1);
      expect(of('node.queued').map(({ nodeId }) => nodeId)).toEqual(['b', 'join']);
    },
  },
  {
    name: 'disabled-choice',
    description: 'A disabled choice takes none of its branches.',
    edges: ['start -> check', 'check/yes -> a', 'check/default -> b'],
    nodes: { check: { ...choice('take', 'yes'), ...disabled } },
    input: { take: 'yes' },
    verify: ({ status, statusOf }) => expect([status, statusOf('a'), statusOf('b')]).toEqual(['completed', 'skipped', 'skipped']),
  },
  {
    name: 'disabled-wait',
    description: 'A disabled delay and a disabled wait for a signal end at once.',
    edges: ['start -> nap -> wait -> end'],
    nodes: { nap: { type: 'delay', delayMinutes: 60, ...disabled }, wait: { type: 'signal', name: 'paid', ...disabled } },
    verify: ({ status, of }) =>
      expect([status, of('node.waiting').length, of('signal.awaited').length]).toEqual(['completed', 0, 0]),
  },
  {
    name: 'disabled-behind-a-failure',
    description: 'A disabled node is skipped like any other node when its parent fails.',
    edges: ['start -> a -> b -> c'],
    nodes: { a: singleAttempt, b: disabled },
    replies: { a: failedWith() },
    verify: ({ status, statusOf }) => expect([status, statusOf('b'), statusOf('c')]).toEqual(['failed', 'skipped', 'skipped']),
  },
  {
    name: 'disabled-all',
    description: 'A run whose nodes are all disabled completes in its first commit.',
    edges: ['start -> a -> b -> end'],
    nodes: { start: disabled, a: disabled, b: disabled, end: disabled },
    verify: ({ status, attempts, output }) => expect([status, attempts, output]).toEqual(['completed', [], null]),
  },
];
