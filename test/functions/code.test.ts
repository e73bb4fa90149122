/** The function that runs code: what its queue may hold, and what it touches of the world while it drives a run. */
import { expect, test } from 'vitest';
import { firstAttempt, firstCommit, nodeId, topLevel } from '../../lib/engine/ids.ts';
import { jobBody, parseJob } from '../../lib/codec/jobs.ts';
import { KnownDeployments } from '../../lib/service/deployments/known-deployments.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { WorkflowTaskJob } from '../../lib/ports/jobs.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { type CodeRunner, handleCodeJob } from '../../functions/code/handle-code-job.ts';
import { codeCreation, bundleCreation } from '../contract/samples.ts';
import { startCodeRun, statusOf } from '../service/code-test-env.ts';
import { functionCommand } from '../service/scripted-programs.ts';

/** What the role of this function allows (`lib/constructs/function-shapes.ts`). All other requests are denied. */
const allowed: Readonly<Record<string, readonly string[] | 'all'>> = {
  clock: 'all',
  ids: 'all',
  settings: 'all',
  metrics: 'all',
  log: 'all',
  index: ['markDue'],
  blobs: ['put', 'get'],
  deployments: ['deployment', 'unpin'],
  jobs: 'all',
  timers: 'all',
  notices: 'all',
};

const restricted = (deps: Deps): Deps =>
  new Proxy(deps, {
    get: (target, name) => {
      const may = typeof name === 'string' ? allowed[name] : undefined;
      if (may === undefined) throw new Error(`access denied: ${String(name)}`);
      const port: unknown = Reflect.get(target, name);
      if (may === 'all' || typeof port !== 'object' || port === null) return port;
      return new Proxy(port, {
        get: (inner, method) => {
          if (typeof method !== 'string' || !may.includes(method))
            throw new Error(`access denied: ${String(name)}.${String(method)}`);
          const member: unknown = Reflect.get(inner, method);
          return typeof member === 'function' ? member.bind(inner) : member;
        },
      });
    },
  });

const noMessage = (): Promise<never> => Promise.reject(new Error('no message was sent'));

const driven = async (stages: Parameters<typeof startCodeRun>[0]) => {
  const { env, code, run } = await startCodeRun(stages);
  const runner: CodeRunner = {
    ...env.worker,
    by: 'code',
    deps: restricted(env.deps),
    programs: code,
    messageHeads: { recognize: () => undefined },
    bundles: { deliver: noMessage, resumeWebhook: noMessage },
    apps: { post: noMessage, forward: noMessage },
    known: new KnownDeployments(),
  };
  const take = (job: Parameters<typeof handleCodeJob>[1], isRedelivered = false) =>
    handleCodeJob(runner, parseJob(jobBody(job)), { isRedelivered, mustEndAt: after(env.ports.clock.now(), minutes(15)) });
  return { home: env, code, run, take };
};

test('a workflow task is handled, and its messages use only queues that its role may send to', async () => {
  const { home, run, take } = await driven([
    [functionCommand('a', { hasRollback: true })],
    [{ kind: 'signal-send', key: 'tell', signal: 's', correlation: '1', data: 'x'.repeat(50_000) }],
    [
      { kind: 'signal-wait', key: 'wait', signal: 's', correlation: '1' },
      { kind: 'workflow', key: 'sub', workflowName: 'flow', input: {} },
    ],
  ]);
  const [job] = home.ports.jobs.takeMessages();
  if (job === undefined) throw new Error('nothing was sent');
  expect(job).toMatchObject({ kind: 'workflow_task', run });
  await take(job);
  await take(job, true);
  expect(await statusOf(home, run)).toBe('running');
  expect(home.ports.jobs.sent).toEqual([]);
  // The signal that is there is not given here: to look at the run is asked of the worker.
  expect(home.ports.jobs.delayed.map(({ job: { kind } }) => kind)).toEqual(expect.arrayContaining(['child', 'signal', 'waits']));
  for (const look of home.ports.jobs.takeDue()) await home.take(look);
  expect(home.ports.jobs.messages).toMatchObject([{ kind: 'workflow_task', nodeId: '.workflow-task.2' }]);
});

test('a run that ends in the code function unpins its deployment', async () => {
  const { home, run, take } = await driven([[functionCommand('a')]]);
  for (const job of home.ports.jobs.takeMessages()) await take(job);
  expect(await statusOf(home, run)).toBe('completed');
  expect((await home.ports.log.head(run))?.projection.status).toBe('completed');
});

test('jobs of other kinds, and workflow tasks with another run’s head, are refused', async () => {
  const { run, take } = await driven([[functionCommand('a')]]);
  const attempt = { run, commit: firstCommit, nodeId: nodeId('a'), iteration: topLevel, attempt: firstAttempt };
  await expect(take({ kind: 'node', ...attempt, resend: 0 })).rejects.toThrow('the code queue contains a job of kind node');
  await expect(take({ kind: 'message', ...attempt, resend: 0, creation: bundleCreation(run) })).rejects.toThrow(
    `${run.runId} received a message job, but it is a`,
  );
  const unknown: WorkflowTaskJob = { kind: 'workflow_task', ...attempt, resend: 0, creation: codeCreation(run) };
  await expect(take(unknown)).resolves.toBeUndefined();
});
