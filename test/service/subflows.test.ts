/** Runs that call runs: each call is made once, its end reaches the caller, and nobody is left at work for nobody. */
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

/** One attempt, as the node type has where its author does not say. */
const once = { policy: { retry: { attempts: 1, backoffMs: 1, maxBackoffMs: 1, retryOn: [], jitter: 'none' } } };

/** A caller `a>k k>b`, whose `k` calls the workflow `child`. */
const furnished = async (
  config: JsonObject = {},
  drawn = 'x>y',
  options: Parameters<typeof createTestEnv>[0] = {},
): Promise<TestEnv> => {
  const home = createTestEnv(options);
  await home.publish(workflow('flow', 'a>k k>b', calls(config)));
  await home.publish(workflow('child', drawn, { z: { ms: hours(1) }, s: { name: 'paid', correlation: 'one' } }));
  return home;
};

const statusOf = async (home: TestEnv, run: RunAddress) => (await home.fold(run)).state.progress.status;
const nodeOf = async (home: TestEnv, run: RunAddress, id = 'k') =>
  (await home.fold(run)).state.nodes.get(nodeKey({ nodeId: nodeId(id), iteration: topLevel }));
const childOf = async (home: TestEnv, run: RunAddress): Promise<RunAddress> => {
  const node = await nodeOf(home, run);
  if (node === undefined || !('childRunId' in node) || node.childRunId === undefined) throw new Error('nobody was called');
  return { ...scope, runId: node.childRunId };
};
/** Takes what is there, and moves no clock. */
const work = async (home: TestEnv): Promise<void> => {
  for (let jobs = [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()]; jobs.length > 0;) {
    for (const job of jobs) await home.take(job);
    jobs = [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()];
  }
};

describe('a call', () => {
  it('makes a run of its own, and the caller goes on with what that gives', async () => {
    const home = await furnished({ input: { order: 7 } }, 'x>e');
    const run = await home.begin('flow');
    await home.settle();
    expect([await statusOf(home, run), home.attempts]).toEqual(['completed', ['a#1', 'x#1', 'b#1']]);
    const child = await childOf(home, run);
    const { head, state } = await home.fold(child);
    expect(state.contextWrites.get('input')?.[0]?.payload).toEqual({ value: { order: 7 } });
    expect(callerOf(head)).toMatchObject({ runId: run.runId, nodeId: 'k', attempt: 1, depth: 1 });
    expect(await nodeOf(home, run)).toMatchObject({ status: 'completed', output: { value: { from: 'e' } } });
  });

  it('lasts no longer than its caller may, and is pinned to the latest version when it is made', async () => {
    const home = await furnished();
    const run = await home.begin('flow');
    await home.publish({ ...workflow('child', 'x>y'), version: 2, options: { deadlineSeconds: days(300) / 1_000 } });
    await home.settle();
    const [{ head }, { head: child }] = [await home.fold(run), await home.fold(await childOf(home, run))];
    expect([child.deadlineAt, child.workflow]).toEqual([head.deadlineAt, { name: 'child', version: 2 }]);
  });

  it('of a version gets that version', async () => {
    const home = await furnished({ version: 1 });
    await home.publish({ ...workflow('child', 'x>y'), version: 2 });
    const run = await home.begin('flow');
    await home.settle();
    expect((await home.fold(await childOf(home, run))).head.workflow).toEqual({ name: 'child', version: 1 });
  });

  it('made by the start itself is made too', async () => {
    const home = await furnished();
    await home.publish(workflow('root', 'k>b', calls()));
    const run = await home.begin('root');
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
  });

  it.each([
    ['of a workflow that is not there', { calls: 'nobody' }, 'no_active_deployment'],
    ['of a version that is not there', { version: 9 }, 'workflow_not_found'],
    ['of a name that is none', { calls: '/' }, 'subflow_invalid'],
  ])('%s fails the node, in words', async (_what, config, code) => {
    const home = await furnished(config);
    const run = await home.begin('flow');
    await home.settle();
    expect(await statusOf(home, run)).toBe('failed');
    expect(await nodeOf(home, run)).toMatchObject({ status: 'failed', failure: { code } });
  });

  it('with an input that is not taken fails the node, and says which', async () => {
    const home = await furnished({ input: {} });
    const args = [{ name: 'order', type: 'string', required: true }] as const;
    await home.publish({ ...workflow('child', 'x>y'), version: 2, options: { args } });
    const run = await home.begin('flow');
    await home.settle();
    expect(await nodeOf(home, run)).toMatchObject({
      failure: { cause: 'invalid', code: 'input_invalid', details: { errors: [{ pointer: expect.stringContaining('order') }] } },
    });
  });

  it('of itself comes to an end', async () => {
    const home = await furnished();
    await home.publish({ ...workflow('child', 'a>k', calls()), version: 2 });
    const run = await home.begin('flow');
    await home.settle();
    expect(home.attempts.filter((attempt) => attempt === 'a#1')).toHaveLength(8);
    expect(await nodeOf(home, run)).toMatchObject({ failure: { code: 'subflow_failed' } });
  });

  it('reaches a deployment’s code, where that is what has the name', async () => {
    const home = await furnished({ calls: 'greet' }, 'x>y', {
      code: () => ({ kind: 'responded', status: 200, body: { run: { status: 'completed', output: 'hello' } } }),
    });
    const now = home.ports.clock.now();
    const manifest = {
      deploymentId: deploymentId('v1'),
      specVersion: 1,
      runtime: 'bundle',
      workflows: [{ name: 'greet' }],
      steps: [],
      files: [],
      artifact: { sha256: 'ab'.repeat(32), bytes: 10 },
    } as const;
    await home.ports.deployments.create(scope, { manifest, createdAt: now, createdBy: null, verifiedAt: now });
    const history = [{ deploymentId: deploymentId('v1'), at: now, by: null }];
    await home.ports.deployments.movePointer(scope, 0, { revision: 1, history });
    const run = await home.begin('flow');
    await home.settle();
    expect(await nodeOf(home, run)).toMatchObject({ status: 'completed', output: { value: 'hello' } });
  });
});

/** A run that has called ten, which have ended: what they came to is to be collected. */
async function ofTen(home: TestEnv): Promise<RunAddress> {
  await home.publish(manyChildRunsWorkflow());
  const run = await home.begin('crowd');
  await work(home);
  expect(home.ports.jobs.results).toHaveLength(10);
  return run;
}

describe('the end of one side', () => {
  it('a run that fails fails its caller’s node, a cancelled one too, or the whole of it', async () => {
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
      const home = await furnished(config, 'x>s');
      const run = await home.begin('flow');
      await work(home);
      await cancelRun(home.worker, await childOf(home, run), 'not needed');
      await work(home);
      expect(await statusOf(home, run)).toBe(status);
    }
  });

  it.each([
    [{}, 'cancelled'],
    [{ goesOn: true }, 'running'],
  ])('a caller that is cancelled leaves what it called: %j', async (config, status) => {
    const home = await furnished(config, 'x>s');
    const run = await home.begin('flow');
    await work(home);
    await cancelRun(home.worker, run);
    await work(home);
    expect(await statusOf(home, await childOf(home, run))).toBe(status);
  });

  it('a wait that is over fails the node and cancels what it waited for', async () => {
    const home = await furnished({ ms: hours(2) }, 'x>s');
    const run = await home.begin('flow');
    await work(home);
    const child = await childOf(home, run);
    await home.settle();
    expect(await nodeOf(home, run)).toMatchObject({ status: 'timed_out', failure: { code: 'subflow_expired' } });
    expect(await statusOf(home, child)).toBe('cancelled');
  });

  it('of more runs than eight is told though one of them cannot be read, and that one when it can', async () => {
    let unreadable: string | undefined;
    const home = await furnished({}, 'x>y', {
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
    const run = await ofTen(home);
    const ends = home.ports.jobs.takeResults();
    unreadable = ends.flatMap((end) => ('childRunId' in end ? [end.childRunId] : []))[3];
    const collect = () => home.collect(byRun(ends.map((result) => ({ result, isRedelivered: false }))));
    await expect(collect()).rejects.toThrow('a log');
    const stillOpen = async () => (await home.fold(run)).state.open.size;
    expect(await stillOpen()).toBe(1);
    unreadable = undefined;
    await collect();
    await work(home);
    expect(await statusOf(home, run)).toBe('completed');
  });

  it('of more runs than eight is told by their dead letters where nobody could collect them', async () => {
    const home = await furnished();
    const run = await ofTen(home);
    const ends = home.ports.jobs.takeResults();
    for (const end of ends) await handleDeadLetter(home.worker, end);
    // Ten that ask after the others each would be forty-five messages.
    expect(home.ports.jobs.delayed.filter(({ job }) => job.kind === 'child')).toHaveLength(9);
    await work(home);
    expect(await statusOf(home, run)).toBe('completed');
  });

  it('a run that was made after nobody waited any more is ended by the sweep', async () => {
    const home = await furnished({}, 'x>s');
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const call = home.ports.jobs.takeDue().find(({ kind }) => kind === 'child');
    if (call === undefined) throw new Error('no call');
    const child = await childOf(home, run);
    await home.take(call);
    // The word that the caller has ended is lost.
    await cancelRun(home.worker, run);
    home.ports.jobs.takeDue();
    home.ports.clock.advance(minutes(3));
    await sweepRuns(home.worker, after(home.ports.clock.now(), minutes(1)));
    await work(home);
    expect(await statusOf(home, child)).toBe('cancelled');
  });
});

/** The caller and the called run, played with one process that dies at a port call; then everything is mended. */
async function playedWith(aim: ConstructorParameters<typeof CrashableProcesses>[1], cancels: boolean) {
  const home = await furnished({ input: { order: 7 } }, 'x>e');
  const processes = new CrashableProcesses(home.deps, aim);
  const worker = (deps: Deps) => ({ ...home.worker, deps, foldCache: new FoldCache() });
  const run = await home.begin('flow');
  const undone = [];
  for (let round = 0; round < 12; round += 1) {
    if (cancels && round === 2)
      await survives(cancelRun(worker(processes.start()), run)).then((isDone) =>
        isDone ? undefined : cancelRun(home.worker, run),
      );
    for (const job of [...home.ports.jobs.takeSent(), ...home.ports.jobs.takeDue()]) {
      if (!(await survives(home.take(job, { worker: worker(processes.start()) })))) undone.push(job);
    }
  }
  const { calls: made } = processes;
  for (let round = 0; round < 4; round += 1) {
    home.ports.clock.advance(minutes(10));
    await sweepRuns(home.worker, after(home.ports.clock.now(), minutes(1)));
    await work(home);
  }
  for (const job of undone) await home.take(job, { isRedelivered: true });
  await work(home);
  const node = await nodeOf(home, run);
  const child =
    node !== undefined && 'childRunId' in node && node.childRunId !== undefined
      ? await home.deps.log.head({ ...scope, runId: node.childRunId })
      : undefined;
  const childStatus = child === undefined ? 'none' : await statusOf(home, child.address);
  return { made, status: await statusOf(home, run), childStatus, node, attempts: home.attempts };
}

describe.each([
  ['a call', false],
  ['a call whose caller is cancelled', true],
])('%s, with a crash before and after each port call', (_what, cancels) => {
  it('comes to its end on both sides, and nothing is done twice that was done', async () => {
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
