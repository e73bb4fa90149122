/** Which code runs a process executes after the task that called them, and when a message is needed. */
import { expect, test } from 'vitest';
import { type RunAddress, commitNo, firstCommit } from '../../../../lib/engine/ids.ts';
import { after, minutes, seconds } from '../../../../lib/engine/time.ts';
import type {
  ChildJob,
  ChildReconciler,
  ExpectedChild,
  Job,
  ReconcileRequest,
  ReconciledChild,
  WorkflowTaskJob,
} from '../../../../lib/ports/jobs.ts';
import type { Programs } from '../../../../lib/ports/programs.ts';
import { reconcileForCode } from '../../../../lib/service/execution/reconcile-for-code.ts';
import { runExecutions } from '../../../../lib/service/kinds/run-executions.ts';
import { cancelRun } from '../../../../lib/service/runs/cancel-run.ts';
import { resumeRun } from '../../../../lib/service/runs/resume-run.ts';
import { FoldCache } from '../../../../lib/service/run-log/fold-cache.ts';
import type { Delivery } from '../../../../lib/service/worker.ts';
import { codeManifest, deploy, statusOf } from '../../code-test-env.ts';
import { type ScriptStage, ScriptedPrograms, functionCommand } from '../../scripted-programs.ts';
import { overrideMethods } from '../../override-methods.ts';
import { type TestEnv, createTestEnv, workflow } from '../../test-env.ts';

const calls = (...names: readonly string[]): ScriptStage =>
  names.map((workflowName, at) => ({ kind: 'workflow', key: `call${at}`, workflowName, input: {} }));

const scripts: Readonly<Record<string, readonly ScriptStage[]>> = {
  parent: [[functionCommand('first')], calls('child'), [functionCommand('last')]],
  child: [[functionCommand('of the child')]],
  twice: [calls('child', 'child')],
  ofGraph: [calls('flow'), [functionCommand('last')]],
  ofNone: [calls('none')],
  ofWaiting: [calls('waiting')],
  waiting: [[{ kind: 'signal-wait', key: 'wait', signal: 'go', correlation: '1' }]],
};

type InWorld = () => Promise<ReconciledChild>;

interface Options {
  /** answers in place of the function that reconciles */
  readonly reconcile?: (inWorld: InWorld, job: ChildJob, env: TestEnv) => Promise<ReconciledChild>;
  readonly onStep?: (env: TestEnv, key: string) => void;
  /** what the process says that it expects, in place of what it expects */
  readonly expecting?: (request: ReconcileRequest) => ExpectedChild;
  /** each request has another process */
  readonly isWorldCold?: boolean;
}

async function deployed({
  reconcile = (inWorld) => inWorld(),
  onStep = () => {},
  expecting = ({ expected }) => expected,
  isWorldCold = false,
}: Options = {}) {
  const steps: string[] = [];
  const asked: ChildJob[] = [];
  const expected: ExpectedChild[] = [];
  /** the reads of logs, by request */
  const worldReads: string[][] = [];
  const warmFolds = new FoldCache();
  let logReads = 0;
  const step = async (key: string): Promise<string> => {
    steps.push(key);
    onStep(env, key);
    return key;
  };
  const programs: Programs = {
    start: (scope, manifest, task, host) =>
      new ScriptedPrograms(() => env.ports.clock, scripts[task.run.workflowName] ?? [], step).start(scope, manifest, task, host),
  };
  const env: TestEnv = createTestEnv({ programs });
  await env.publish(workflow('flow', 'x>y'));
  await deploy(
    env,
    codeManifest(
      'v1',
      Object.keys(scripts).map((name) => ({ name, version: '1' })),
    ),
  );
  const reconciler: ChildReconciler = {
    reconcile: (request) => {
      const { job } = request;
      expected.push(request.expected);
      asked.push(job);
      const reads: string[] = [];
      worldReads.push(reads);
      const { log } = env.worker.deps;
      const reading =
        <Name extends 'commitsAfter' | 'head' | 'snapshot'>(name: Name) =>
        (...given: Parameters<(typeof log)[Name]>) => (reads.push(name), Reflect.apply(log[name], log, given));
      const watched = { commitsAfter: reading('commitsAfter'), head: reading('head'), snapshot: reading('snapshot') };
      const deps = { ...env.worker.deps, log: overrideMethods(log, watched) };
      const world = { ...env.worker, deps, foldCache: isWorldCold ? new FoldCache() : warmFolds, by: 'world' };
      const inWorld: InWorld = async () => {
        const answer = await reconcileForCode(world, { job, expected: expecting(request) });
        reads.sort();
        return answer;
      };
      return reconcile(inWorld, job, env);
    },
  };
  /** The messages in the queues, which it empties. */
  const takeMessages = (): readonly Job[] => [
    ...env.ports.jobs.takeSent(),
    ...env.ports.jobs.takeMessages(),
    ...env.ports.jobs.takeDue().filter(({ kind }) => kind !== 'recheck'),
  ];
  const execute = (job: WorkflowTaskJob, delivery?: Partial<Delivery>): Promise<void> => {
    const mustEndAt = after(env.ports.clock.now(), minutes(15));
    // A task that knows nothing of a run reads its head and its log.
    const head: TestEnv['worker']['deps']['log']['head'] = (of) => {
      logReads += 1;
      return env.worker.deps.log.head(of);
    };
    const deps = { ...env.worker.deps, log: overrideMethods(env.worker.deps.log, { head }) };
    const worker = { ...env.worker, deps, by: 'code', programs, reconciler };
    return runExecutions.code.execute(worker, job, { isRedelivered: false, mustEndAt, ...delivery });
  };
  /** Starts a run and executes its first task. @returns the kinds of the messages that this leaves */
  const begin = async (
    name: string,
    { delivery, resend = 0 }: { readonly delivery?: Partial<Delivery>; readonly resend?: number } = {},
  ): Promise<readonly [RunAddress, readonly string[]]> => {
    const run = await env.begin(name);
    const [job] = takeMessages();
    if (job?.kind !== 'workflow_task') throw new Error(`the run of ${name} has no workflow task`);
    await execute({ ...job, resend }, delivery);
    return [run, takeMessages().map(({ kind }) => kind)];
  };
  return { env, steps, asked, expected, worldReads, execute, takeMessages, begin, logReads: () => logReads };
}

test('one message executes a run of code, the run of code that it calls, and what follows', async () => {
  const { env, steps, begin } = await deployed();
  const [run, left] = await begin('parent');
  expect([await statusOf(env, run), steps, left]).toEqual(['completed', ['first', 'of the child', 'last'], []]);
});

test('only the log of the message is read: the answers have the logs of the tasks that follow', async () => {
  const { begin, logReads } = await deployed();
  await begin('parent');
  expect(logReads()).toBe(1);
});

test('the log of an answer that is older than five seconds is read', async () => {
  const { env, begin, steps, logReads } = await deployed({
    reconcile: async (inWorld, _job, { ports }) => {
      const answer = await inWorld();
      ports.clock.advance(seconds(2.6));
      return answer;
    },
    onStep: ({ ports }, key) => {
      if (key === 'first') ports.clock.advance(seconds(1));
    },
  });
  const [run] = await begin('parent');
  expect([await statusOf(env, run), steps, logReads()]).toEqual(['completed', ['first', 'of the child', 'last'], 1]);
  const slow = await deployed({
    reconcile: async (inWorld, _job, { ports }) => {
      const answer = await inWorld();
      ports.clock.advance(seconds(5.1));
      return answer;
    },
  });
  await slow.begin('parent');
  expect([slow.steps, slow.logReads()]).toEqual([['first', 'of the child', 'last'], 3]);
});

test('the request names the workflow and the commits that the process knows', async () => {
  const { begin, expected } = await deployed();
  await begin('parent');
  expect(expected).toEqual([
    { kind: 'starts', workflowName: 'child', callerAsOf: 3 },
    { kind: 'has_ended', callerAsOf: 3, childAsOf: 3, isCallerMarked: true },
  ]);
});

test.for<[string, NonNullable<Options['expecting']>]>([
  ['the end of a run that is not started', () => ({ kind: 'has_ended' })],
  ['the start of a run that has ended', () => ({ kind: 'starts', workflowName: 'child' })],
  ['a workflow that it does not call', () => ({ kind: 'starts', workflowName: 'waiting' })],
  ['a workflow whose name is not valid', () => ({ kind: 'starts', workflowName: '../other' })],
  ['the first commits', ({ expected }) => ({ ...expected, callerAsOf: firstCommit, childAsOf: firstCommit })],
])('a process that expects %s gets the same runs', async ([, expecting]) => {
  const { env, steps, begin } = await deployed({ expecting });
  const [run, left] = await begin('parent');
  expect([await statusOf(env, run), steps, left]).toEqual(['completed', ['first', 'of the child', 'last'], []]);
});

test.for([
  ['redelivered', { delivery: { isRedelivered: true } }],
  ['sent again', { resend: 1 }],
] as const)('a task that was %s leaves its call to a message', async ([, how]) => {
  const { asked, begin } = await deployed();
  const [, left] = await begin('ofNone', how);
  expect([asked, left]).toEqual([[], ['child']]);
});

test('a process without time for the longest step leaves the call to a message', async () => {
  const { env, asked, begin } = await deployed();
  const [, left] = await begin('parent', { delivery: { mustEndAt: after(env.ports.clock.now(), minutes(14)) } });
  expect([asked, left]).toEqual([[], ['child']]);
});

test('after ten seconds the end of the called run is left to a message', async () => {
  const { env, asked, begin } = await deployed({
    onStep: ({ ports }, key) => {
      if (key === 'of the child') ports.clock.advance(seconds(11));
    },
  });
  const [run, left] = await begin('parent');
  expect([asked.length, left, await statusOf(env, run)]).toEqual([1, ['child'], 'running']);
});

test('parallel calls have messages of their own', async () => {
  const { asked, begin } = await deployed();
  const [, left] = await begin('twice');
  expect([asked, left]).toEqual([[], ['child', 'child']]);
});

test('a message starts a graph', async () => {
  const { env, asked, begin } = await deployed();
  const [run, left] = await begin('ofGraph');
  expect([asked.length, left]).toEqual([1, ['child']]);
  expect(await env.ports.log.head({ ...run, runId: asked[0]?.childRunId ?? run.runId })).toBeUndefined();
});

test('a call of a workflow that does not exist is refused, and its caller continues in place', async () => {
  const { env, begin } = await deployed();
  const [run, left] = await begin('ofNone');
  // The message checks that no called run continues without its caller, as after each failure.
  expect([await statusOf(env, run), left]).toEqual(['failed', ['child']]);
});

test('a process that expects a commit which does not exist needs a message', async () => {
  const missing = ({ expected }: ReconcileRequest) => ({ ...expected, callerAsOf: commitNo(900) });
  const { begin } = await deployed({
    expecting: missing,
    reconcile: (inWorld) => inWorld().catch(() => ({ kind: 'needs_message' })),
  });
  const [, left] = await begin('parent');
  expect(left).toEqual(['child']);
});

test('the other function reads of runs that it knows only what was committed since', async () => {
  const { begin, worldReads } = await deployed();
  await begin('parent');
  // The first request reads the caller, and finds that the called run does not exist. The second one reads what its code has committed.
  expect(worldReads).toEqual([['commitsAfter', 'head', 'head'], ['commitsAfter']]);
});

test('the other function that knows no run reads both', async () => {
  const { begin, worldReads } = await deployed({ isWorldCold: true });
  const [, left] = await begin('parent');
  expect([worldReads[1], left]).toEqual([['commitsAfter', 'commitsAfter', 'head', 'head'], []]);
});

test('a called run that waits ends the message', async () => {
  const { env, begin } = await deployed();
  const [run, left] = await begin('ofWaiting');
  expect([await statusOf(env, run), left]).toEqual(['running', ['waits']]);
});

test.for<[string, (inWorld: InWorld) => Promise<ReconciledChild>]>([
  ['reconciled nothing', async () => ({ kind: 'needs_message' })],
  ['gave no answer', async (inWorld) => (await inWorld(), { kind: 'needs_message' })],
])('where the other function %s, a message reconciles', async ([, reconcile]) => {
  const { begin } = await deployed({ reconcile });
  const [, left] = await begin('parent');
  expect(left).toEqual(['child']);
});

/** Something happens to the caller when the end of its called run is about to be committed. */
const beforeTheEnd =
  (happens: (env: TestEnv, caller: RunAddress) => Promise<unknown>): NonNullable<Options['reconcile']> =>
  async (inWorld, job, env) => {
    const hasEnded = (await env.ports.log.head({ ...job.run, runId: job.childRunId })) !== undefined;
    if (hasEnded) await happens(env, job.run);
    return inWorld();
  };

test.for([
  ['and has read it', true, ['child', 'workflow_task']],
  // Its put shows the other node: a task that will see the end.
  ['and knows only what was before', false, ['workflow_task']],
] as const)(
  'a caller with another open node learns the end by a later message, where the function ends the call %s',
  async ([, isWorldCold, expected]) => {
    const { env, begin, steps, execute, takeMessages } = await deployed({
      isWorldCold,
      reconcile: beforeTheEnd(({ worker }, caller) => resumeRun(worker, caller, {})),
    });
    const [run, left] = await begin('parent');
    // Its next task must wait for the other one.
    expect([steps, left.toSorted()]).toEqual([['first', 'of the child'], expected]);
    for (let jobs = takeMessages(); jobs.length > 0; jobs = takeMessages())
      for (const job of jobs) await (job.kind === 'workflow_task' ? execute(job) : env.take(job));
    expect(await statusOf(env, run)).toBe('running');
  },
);

test.for([
  [true, 2],
  // The function finds the cancel when it commits the end, so nothing is left to do for it.
  [false, 1],
] as const)(
  'the end of a call that its caller has cancelled is left to a message by a function that reads the caller: %s',
  async ([isWorldCold, messages]) => {
    const { asked, begin } = await deployed({
      isWorldCold,
      reconcile: beforeTheEnd(({ worker }, caller) => cancelRun(worker, caller)),
    });
    const [, left] = await begin('parent');
    expect([asked.length, left.filter((kind) => kind === 'child').length]).toEqual([2, messages]);
  },
);

test('a graph learns the end of its called code by a message', async () => {
  const { env, execute, asked, takeMessages } = await deployed();
  await env.publish(workflow('caller', 'a>k', { k: { calls: 'child' } }));
  const run = await env.begin('caller');
  for (let jobs = takeMessages(); jobs.length > 0; jobs = takeMessages())
    for (const job of jobs) await (job.kind === 'workflow_task' ? execute(job) : env.take(job));
  expect([await statusOf(env, run), asked]).toEqual(['completed', []]);
});
