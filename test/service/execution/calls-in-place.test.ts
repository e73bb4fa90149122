/** Which called runs a worker executes under the message of their caller, and which ones get messages of their own. */
import { expect, test } from 'vitest';
import { fairSharesOf } from '../../../lib/engine/fair-shares.ts';
import type { RunAddress } from '../../../lib/engine/ids.ts';
import { after, minutes, seconds } from '../../../lib/engine/time.ts';
import type { Job } from '../../../lib/ports/jobs.ts';
import { handleJob } from '../../../lib/service/execution/handle-job.ts';
import { sweepRun } from '../../../lib/service/execution/sweep-runs.ts';
import type { Delivery } from '../../../lib/service/worker.ts';
import { maxPutAttempts } from '../../../lib/service/run-log/append.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { codeManifest, deploy } from '../code-test-env.ts';
import { overrideMethods } from '../override-methods.ts';
import { type TestEnv, createTestEnv, finished, workflow } from '../test-env.ts';

/** `a`, then a call of `child`, whose nodes are `x` and `y`, then `b`. */
async function calling(options: Parameters<typeof createTestEnv>[0] = {}, drawn = 'a>k k>b', calls = 'child') {
  const env = createTestEnv(options);
  await env.publish(workflow('child', 'x>y'));
  await env.publish(workflow('flow', drawn, { k: { calls }, k2: { calls } }));
  return env;
}

const jobsOf = ({ ports: { jobs } }: TestEnv): readonly Job[] => [
  ...jobs.takeSent(),
  ...jobs.takeMessages(),
  ...jobs.takeDue().filter(({ kind }) => kind !== 'recheck'),
];

const handle = (env: TestEnv, job: Job, delivery: Partial<Delivery> = {}): Promise<void> =>
  handleJob(env.worker, job, { isRedelivered: false, mustEndAt: after(env.ports.clock.now(), minutes(15)), ...delivery });

/** Handles the first job of the run. @returns the messages that it leaves */
async function first(env: TestEnv, change: (job: Job) => Job = (job) => job, delivery: Partial<Delivery> = {}) {
  const run = await env.begin('flow');
  const [job] = jobsOf(env);
  if (job === undefined) throw new Error('the run has no job');
  await handle(env, change(job), delivery);
  return [run, jobsOf(env)] as const;
}

const kinds = (jobs: readonly Job[]): readonly string[] => jobs.map(({ kind }) => kind);
const statusOf = async (env: TestEnv, run: RunAddress): Promise<string> => (await env.fold(run)).state.progress.status;

test('one message executes a node, the run that the next node calls, and the node after it', async () => {
  const env = await calling();
  const [run, left] = await first(env);
  expect([await statusOf(env, run), kinds(left), env.attempts]).toEqual(['completed', [], ['a#1', 'x#1', 'y#1', 'b#1']]);
});

test.each<[string, (job: Job) => Job, Partial<Delivery>]>([
  ['that is redelivered', (job) => job, { isRedelivered: true }],
  ['that was sent again', (job) => (job.kind === 'node' ? { ...job, resend: 1 } : job), {}],
  ['of the slow lane', (job) => (job.kind === 'node' ? { ...job, slowLane: 0 } : job), {}],
])('a message %s executes no called run', async (_what, change, delivery) => {
  const env = await calling();
  const [run, left] = await first(env, change, delivery);
  expect(env.attempts).not.toContain('x#1');
  for (const job of left) await handle(env, job);
  await env.settle();
  expect(await statusOf(env, run)).toBe('completed');
});

test('a limit on a project’s share leaves called runs to the node queue, which limits the project', async () => {
  const shares = fairSharesOf(4, 50);
  const env = await calling({ wrap: (deps) => ({ ...deps, settings: { ...deps.settings, shares } }) });
  const [, left] = await first(env);
  expect([shares?.regular === undefined, env.attempts, kinds(left)]).toEqual([false, ['a#1'], ['child']]);
});

test('parallel calls have messages of their own', async () => {
  const env = await calling({}, 'a>k a>k2 k>b k2>b');
  const [run, left] = await first(env);
  expect([kinds(left), env.attempts]).toEqual([['child', 'child'], ['a#1']]);
  for (const job of left) await handle(env, job);
  await env.settle();
  expect(await statusOf(env, run)).toBe('completed');
});

test('deployed code is executed by its own function', async () => {
  const env = await calling({}, 'a>k k>b', 'order');
  await deploy(env, codeManifest('v1'));
  const [, left] = await first(env);
  expect([kinds(left), env.attempts]).toEqual([['workflow_task'], ['a#1']]);
});

test('a called run that waits ends the message, and continues its caller later', async () => {
  const env = await calling();
  await env.publish({ ...workflow('child', 'x>s s>y', { s: { name: 'go' } }), version: 2 });
  const [run, left] = await first(env);
  expect([await statusOf(env, run), kinds(left), env.attempts]).toEqual(['running', [], ['a#1', 'x#1']]);
});

test('a message takes calls for ten seconds, and leaves later ones to their own messages', async () => {
  const env: TestEnv = await calling({
    answer: (node) => {
      if (node === 'x') env.ports.clock.advance(seconds(11));
      return finished(node);
    },
  });
  const [run, left] = await first(env);
  // The called run continues in this message, and a message reports its end.
  expect([kinds(left), env.attempts]).toEqual([['child'], ['a#1', 'x#1', 'y#1']]);
  for (const job of left) await handle(env, job);
  await env.settle();
  expect(await statusOf(env, run)).toBe('completed');
});

test('a workflow that calls itself ends at the maximum depth, within one message', async () => {
  const env = await calling({}, 'a>k k>b', 'flow');
  const [run, left] = await first(env);
  expect([await statusOf(env, run), env.attempts]).toEqual(['failed', Array.from({ length: 8 }, () => 'a#1')]);
  // Each failed run requests a check of the run that it called, for the case that it does not know of its end.
  expect(new Set(kinds(left))).toEqual(new Set(['child']));
});

/** The caller takes no commit after the end of the called run, until its worker gives up. */
const failingAfterChild = (error: Error): Promise<TestEnv> => {
  let env: TestEnv | undefined;
  let failures = 0;
  const maxFailures = error instanceof Unavailable ? maxPutAttempts : 1;
  const created = calling({
    wrap: (deps) => ({
      ...deps,
      // Between its attempts.
      clock: overrideMethods(deps.clock, { sleep: async () => {} }),
      log: overrideMethods(deps.log, {
        put: async (run, ...commit) => {
          const isCaller = (await deps.log.head(run))?.workflow.name === 'flow';
          if (isCaller && env?.attempts.includes('y#1') === true && failures < maxFailures) {
            failures += 1;
            throw error;
          }
          return deps.log.put(run, ...commit);
        },
      }),
    }),
  });
  return created.then((made) => (env = made));
};

/** The end of a called run is recorded as `record` does it. */
const recording = (record: (write: () => Promise<void>, env: TestEnv) => Promise<void>): Promise<TestEnv> => {
  let env: TestEnv | undefined;
  const created = calling({
    wrap: (deps) => ({
      ...deps,
      log: overrideMethods(deps.log, {
        project: async (run, ...projected) => {
          const write = () => deps.log.project(run, ...projected);
          const head = await deps.log.head(run);
          return env === undefined || head?.workflow.name !== 'child' ? write() : record(write, env);
        },
      }),
    }),
  });
  return created.then((made) => (env = made));
};

test('the caller does not wait until the end of its called run is recorded, and the message does', async () => {
  const begun: string[][] = [];
  const env = await recording(async (write, { attempts }) => {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    begun.push([...attempts]);
    await write();
  });
  const [run] = await first(env);
  expect(begun).toEqual([['a#1', 'x#1', 'y#1', 'b#1']]);
  const called = (await env.ports.index.list(run, { limit: 5 })).heads.find(({ workflow: { name } }) => name === 'child');
  expect(called?.projection.status).toBe('completed');
});

test.for([
  ['whose caller is marked since the call marks nothing again', false, 0],
  ['whose caller could not be marked marks it before the commit', true, 1],
] as const)('the end of a call %s', async ([, isRefused, repetitions]) => {
  let refusals = 0;
  let repeated = 0;
  const attempts: string[] = [];
  const env = await calling({
    answer: (node) => (attempts.push(node), finished(node)),
    wrap: (deps) => ({
      ...deps,
      index: overrideMethods(deps.index, {
        markDue: async (entry) => {
          if (isRefused && attempts.length === 1 && refusals++ === 0) throw new Unavailable('the index');
          if (attempts.length > 1) repeated += 1;
          return deps.index.markDue(entry);
        },
      }),
    }),
  });
  const run = await env.begin('flow');
  const [job] = env.ports.jobs.takeSent();
  if (job === undefined) throw new Error('the run has no job');
  const handled = handle(env, job);
  await (isRefused ? expect(handled).rejects.toThrow('the index') : handled);
  expect(await statusOf(env, run)).toBe('completed');
  expect(repeated).toBe(repetitions);
  expect(env.ports.jobs.delayed.filter(({ job: { kind } }) => kind === 'recheck')).toEqual([]);
});

test('a message whose called run could not record its end fails after its other work, and the sweep records it', async () => {
  let refusals = 0;
  const env = await recording((write) => (refusals++ === 0 ? Promise.reject(new Unavailable('the table')) : write()));
  const run = await env.begin('flow');
  const [job] = jobsOf(env);
  if (job === undefined) throw new Error('the run has no job');
  await expect(handle(env, job)).rejects.toThrow('the table');
  expect([await statusOf(env, run), env.attempts]).toEqual(['completed', ['a#1', 'x#1', 'y#1', 'b#1']]);
  const { heads } = await env.ports.index.list(run, { limit: 5 });
  const called = heads.find(({ workflow: { name } }) => name === 'child')?.address;
  if (called === undefined) throw new Error('no run was called');
  env.ports.clock.advance(minutes(3));
  await sweepRun(env.worker, called);
  expect((await env.ports.log.head(called))?.projection.status).toBe('completed');
});

test('where a store refuses the end of a called run, a message brings it to the caller', async () => {
  const env = await failingAfterChild(new Unavailable('the index'));
  const [run, left] = await first(env);
  expect([kinds(left), env.attempts]).toEqual([['child'], ['a#1', 'x#1', 'y#1']]);
  for (const job of left) await handle(env, job);
  await env.settle();
  expect([await statusOf(env, run), env.attempts]).toEqual(['completed', ['a#1', 'x#1', 'y#1', 'b#1']]);
});

test('an unexpected error at the end of a called run fails the message, which then sends messages', async () => {
  const env = await failingAfterChild(new Error('a fault of the product'));
  const run = await env.begin('flow');
  const [job] = jobsOf(env);
  if (job === undefined) throw new Error('the run has no job');
  await expect(handle(env, job)).rejects.toThrow('a fault of the product');
  await handle(env, job, { isRedelivered: true });
  await env.settle();
  // The sweep completes the called run, which was dispatched inline.
  const called = [...(await env.fold(run)).state.nodes.entries()].flatMap(([, node]) =>
    'childRunId' in node && node.childRunId !== undefined ? [node.childRunId] : [],
  );
  env.ports.clock.advance(minutes(3));
  for (const runId of called) await sweepRun(env.worker, { ...run, runId });
  await env.settle();
  expect([await statusOf(env, run), env.attempts]).toEqual(['completed', ['a#1', 'x#1', 'y#1', 'b#1']]);
});
