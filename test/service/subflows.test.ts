/** Child runs: each call starts one run, its end reaches the caller, and no child run stays open without a caller. */
import { defaultApp, pointerAfter } from '../../lib/ports/deployments.ts';
import { describe, expect, it } from 'vitest';
import { type RunAddress, deploymentId, nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { callerOf } from '../../lib/engine/log/lineage.ts';
import { after, days, hours, minutes } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { byRun } from '../../lib/service/execution/collect-results.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, manyChildRunsWorkflow, createTestEnv, scope, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';
import { CrashableProcesses, survives } from './crashable-processes.ts';

const calls = (more: JsonObject = {}): Record<string, JsonObject> => ({ k: { calls: 'child', ...more } });

/** One attempt: the default of the node type. */
const once = { policy: { retry: { attempts: 1, backoffMs: 1, maxBackoffMs: 1, retryOn: [], jitter: 'none' } } };

/** A caller `a>k k>b`, whose `k` calls the workflow `child`. */
const furnished = async (
  config: JsonObject = {},
  drawn = 'x>y',
  options: Parameters<typeof createTestEnv>[0] = {},
): Promise<TestEnv> => {
  const env = createTestEnv(options);
  await env.publish(workflow('flow', 'a>k k>b', calls(config)));
  await env.publish(workflow('child', drawn, { z: { ms: hours(1) }, s: { name: 'paid', correlation: 'one' } }));
  return env;
};

const statusOf = async (env: TestEnv, run: RunAddress) => (await env.fold(run)).state.progress.status;
const nodeOf = async (env: TestEnv, run: RunAddress, id = 'k') =>
  (await env.fold(run)).state.nodes.get(nodeKey({ nodeId: nodeId(id), iteration: topLevel }));
const childOf = async (env: TestEnv, run: RunAddress): Promise<RunAddress> => {
  const node = await nodeOf(env, run);
  if (node === undefined || !('childRunId' in node) || node.childRunId === undefined) throw new Error('there is no child run');
  return { ...scope, runId: node.childRunId };
};
/** Processes the pending messages, without advancing the clock. */
const work = async (env: TestEnv): Promise<void> => {
  for (let jobs = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()]; jobs.length > 0;) {
    for (const job of jobs) await env.take(job);
    jobs = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()];
  }
};

describe('a call', () => {
  it('starts a child run, and the caller continues with its output', async () => {
    const env = await furnished({ input: { order: 7 } }, 'x>e');
    const run = await env.begin('flow');
    await env.settle();
    expect([await statusOf(env, run), env.attempts]).toEqual(['completed', ['a#1', 'x#1', 'b#1']]);
    const child = await childOf(env, run);
    const { head, state } = await env.fold(child);
    expect(state.contextWrites.get('input')?.[0]?.payload).toEqual({ value: { order: 7 } });
    expect(callerOf(head)).toMatchObject({ runId: run.runId, nodeId: 'k', attempt: 1, depth: 1 });
    expect(await nodeOf(env, run)).toMatchObject({ status: 'completed', output: { value: { from: 'e' } } });
  });

  it('ends by its caller’s deadline, and is pinned to the latest version at its start', async () => {
    const env = await furnished();
    await env.publish({ ...workflow('child', 'x>y'), version: 2, options: { deadlineSeconds: days(300) / 1_000 } });
    const answer = await env.start({ deadlineAt: after(env.ports.clock.now(), days(5)) });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const run = { ...scope, runId: answer.runId };
    await env.settle();
    const [{ head }, { head: child }] = [await env.fold(run), await env.fold(await childOf(env, run))];
    expect([child.deadlineAt, child.workflow]).toEqual([head.deadlineAt, { name: 'child', version: 2 }]);
  });

  it('of a version uses that version', async () => {
    const env = await furnished({ version: 1 });
    await env.publish({ ...workflow('child', 'x>y'), version: 2 });
    const run = await env.begin('flow');
    await env.settle();
    expect((await env.fold(await childOf(env, run))).head.workflow).toEqual({ name: 'child', version: 1 });
  });

  it('in the first commit of a run starts a child run too', async () => {
    const env = await furnished();
    await env.publish(workflow('root', 'k>b', calls()));
    const run = await env.begin('root');
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
  });

  it.each([
    ['of a workflow that is not there', { calls: 'missing' }, 'no_active_deployment'],
    ['of a version that is not there', { version: 9 }, 'workflow_not_found'],
    ['of a name that is none', { calls: '/' }, 'subflow_invalid'],
  ])('%s fails the node with a clear error', async (_what, config, code) => {
    const env = await furnished(config);
    const run = await env.begin('flow');
    await env.settle();
    expect(await statusOf(env, run)).toBe('failed');
    expect(await nodeOf(env, run)).toMatchObject({ status: 'failed', failure: { code } });
  });

  it('with an invalid input fails the node, and names the errors', async () => {
    const env = await furnished({ input: {} });
    const args = [{ name: 'order', type: 'string', required: true }] as const;
    await env.publish({ ...workflow('child', 'x>y'), version: 2, options: { args } });
    const run = await env.begin('flow');
    await env.settle();
    expect(await nodeOf(env, run)).toMatchObject({
      failure: { cause: 'invalid', code: 'input_invalid', details: { errors: [{ pointer: expect.stringContaining('order') }] } },
    });
  });

  it('of itself is limited in depth', async () => {
    const env = await furnished();
    await env.publish({ ...workflow('child', 'a>k', calls()), version: 2 });
    const run = await env.begin('flow');
    await env.settle();
    expect(env.attempts.filter((attempt) => attempt === 'a#1')).toHaveLength(8);
    expect(await nodeOf(env, run)).toMatchObject({ failure: { code: 'subflow_failed' } });
  });

  it('reaches a deployment’s code, if the name belongs to it', async () => {
    const env = await furnished({ calls: 'greet' }, 'x>y', {
      code: () => ({ kind: 'responded', status: 200, body: { run: { status: 'completed', output: 'hello' } } }),
    });
    const now = env.ports.clock.now();
    const manifest = {
      deploymentId: deploymentId('v1'),
      specVersion: 1,
      app: defaultApp,
      runtime: 'bundle',
      workflows: [{ name: 'greet' }],
      steps: [],
      files: [],
      artifact: { sha256: 'ab'.repeat(32), bytes: 10 },
    } as const;
    await env.ports.deployments.create(scope, { manifest, createdAt: now, createdBy: null, verifiedAt: now });
    const activation = { deploymentId: deploymentId('v1'), at: now, by: null };
    await env.ports.deployments.movePointer(scope, 0, pointerAfter(undefined, manifest, activation));
    const run = await env.begin('flow');
    await env.settle();
    expect(await nodeOf(env, run)).toMatchObject({ status: 'completed', output: { value: 'hello' } });
  });
});

/** A run with ten ended child runs, whose ends are not collected yet. */
async function ofTen(env: TestEnv): Promise<RunAddress> {
  await env.publish(manyChildRunsWorkflow());
  const run = await env.begin('crowd');
  await work(env);
  expect(env.ports.jobs.results).toHaveLength(10);
  return run;
}

describe('the end of one side', () => {
  it('a failed or cancelled child run fails its caller’s node, or the whole caller', async () => {
    const failing = await furnished({}, 'x>y', {
      answer: (node) =>
        node === 'x'
          ? { kind: 'failed', failure: { cause: 'invalid', message: 'no' } }
          : { kind: 'finished', output: { value: null }, handle: 'output' },
    });
    const failed = await failing.begin('flow');
    await failing.settle();
    expect(await nodeOf(failing, failed)).toMatchObject({ failure: { code: 'subflow_failed', details: { code: 'invalid' } } });

    for (const [config, status] of [
      [once, 'failed'],
      [{ ...once, cancels: true }, 'cancelled'],
    ] as const) {
      const env = await furnished(config, 'x>s');
      const run = await env.begin('flow');
      await work(env);
      await cancelRun(env.worker, await childOf(env, run), 'not needed');
      await work(env);
      expect(await statusOf(env, run)).toBe(status);
    }
  });

  it.each([
    [{}, 'cancelled'],
    [{ goesOn: true }, 'running'],
  ])('a cancelled caller applies the parent close policy: %j', async (config, status) => {
    const env = await furnished(config, 'x>s');
    const run = await env.begin('flow');
    await work(env);
    await cancelRun(env.worker, run);
    await work(env);
    expect(await statusOf(env, await childOf(env, run))).toBe(status);
  });

  it('a wait that times out fails the node and cancels the child run', async () => {
    const env = await furnished({ ms: hours(2) }, 'x>s');
    const run = await env.begin('flow');
    await work(env);
    const child = await childOf(env, run);
    await env.settle();
    expect(await nodeOf(env, run)).toMatchObject({ status: 'timed_out', failure: { code: 'subflow_expired' } });
    expect(await statusOf(env, child)).toBe('cancelled');
  });

  it('the ends of more than eight child runs are committed even if one is unreadable, and that one later', async () => {
    let unreadable: string | undefined;
    const env = await furnished({}, 'x>y', {
      wrap: (deps) => ({
        ...deps,
        log: overrideMethods(deps.log, {
          head: async (run) => {
            if (run.runId === unreadable) throw new Unavailable('a log');
            return deps.log.head(run);
          },
        }),
      }),
    });
    const run = await ofTen(env);
    const ends = env.ports.jobs.takeResults();
    unreadable = ends.flatMap((end) => ('childRunId' in end ? [end.childRunId] : []))[3];
    const collect = () => env.collect(byRun(ends.map((result) => ({ result, isRedelivered: false }))));
    await expect(collect()).rejects.toThrow('a log');
    const stillOpen = async () => (await env.fold(run)).state.open.size;
    expect(await stillOpen()).toBe(1);
    unreadable = undefined;
    await collect();
    await work(env);
    expect(await statusOf(env, run)).toBe('completed');
  });

  it('the ends of more than eight child runs are committed from their dead letters if no collector could', async () => {
    const env = await furnished();
    const run = await ofTen(env);
    const ends = env.ports.jobs.takeResults();
    for (const end of ends) await handleDeadLetter(env.worker, end);
    // If each of the ten rechecked all others, there would be 45 messages.
    expect(env.ports.jobs.delayed.filter(({ job }) => job.kind === 'child')).toHaveLength(9);
    await work(env);
    expect(await statusOf(env, run)).toBe('completed');
  });

  it('the sweep cancels a child run that started after its caller’s wait ended', async () => {
    const env = await furnished({}, 'x>s');
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const call = env.ports.jobs.takeDue().find(({ kind }) => kind === 'child');
    if (call === undefined) throw new Error('no call');
    const child = await childOf(env, run);
    await env.take(call);
    // The job for the caller's end is lost.
    await cancelRun(env.worker, run);
    env.ports.jobs.takeDue();
    env.ports.clock.advance(minutes(3));
    await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
    await work(env);
    expect(await statusOf(env, child)).toBe('cancelled');
  });
});

/** Runs the caller and the child run with one crash at a port call, and then lets everything recover. */
async function playedWith(aim: ConstructorParameters<typeof CrashableProcesses>[1], cancels: boolean) {
  const env = await furnished({ input: { order: 7 } }, 'x>e');
  const processes = new CrashableProcesses(env.deps, aim);
  const worker = (deps: Deps) => ({ ...env.worker, deps, foldCache: new FoldCache() });
  const run = await env.begin('flow');
  const undone = [];
  for (let round = 0; round < 12; round += 1) {
    if (cancels && round === 2)
      await survives(cancelRun(worker(processes.start()), run)).then((isDone) =>
        isDone ? undefined : cancelRun(env.worker, run),
      );
    for (const job of [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()]) {
      if (!(await survives(env.take(job, { worker: worker(processes.start()) })))) undone.push(job);
    }
  }
  const { calls: made } = processes;
  for (let round = 0; round < 4; round += 1) {
    env.ports.clock.advance(minutes(10));
    await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
    await work(env);
  }
  for (const job of undone) await env.take(job, { isRedelivered: true });
  await work(env);
  const node = await nodeOf(env, run);
  const child =
    node !== undefined && 'childRunId' in node && node.childRunId !== undefined
      ? await env.deps.log.head({ ...scope, runId: node.childRunId })
      : undefined;
  const childStatus = child === undefined ? 'none' : await statusOf(env, child.address);
  return { made, status: await statusOf(env, run), childStatus, node, attempts: env.attempts };
}

describe.each([
  ['a call', false],
  ['a call whose caller is cancelled', true],
])('%s, with a crash before and after each port call', (_what, cancels) => {
  it('both runs end, and no completed work is repeated', async () => {
    const { made } = await playedWith(undefined, cancels);
    expect(made).toBeGreaterThan(30);
    for (let call = 1; call <= made; call += 1) {
      for (const kind of ['before', 'after'] as const) {
        const { status, childStatus, node } = await playedWith({ call, kind }, cancels);
        const seen = `${kind} call ${call}`;
        if (!cancels) {
          expect([status, childStatus], seen).toEqual(['completed', 'completed']);
          expect(node, seen).toMatchObject({ status: 'completed', output: { value: { from: 'e' } } });
        } else {
          expect(['cancelled', 'completed'], seen).toContain(status);
          expect(['none', 'cancelled', 'completed'], seen).toContain(childStatus);
        }
      }
    }
  });
});
