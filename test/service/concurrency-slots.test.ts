/** Runs of a workflow with concurrency slots: which runs are admitted, which wait, and how a slot is released. */
import { describe, expect, it } from 'vitest';
import { type RunAddress, nodeId, workflowName } from '../../lib/engine/ids.ts';
import { isWaitingForSlot } from '../../lib/engine/log/fold.ts';
import { after, hours, minutes } from '../../lib/engine/time.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { stopTestRun } from '../../lib/service/runs/stop-test-run.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { type TestEnv, failing, createTestEnv, scope, workflow } from './test-env.ts';
import { CrashableProcesses, survives } from './crashable-processes.ts';
import { definitionOf, startTestRun } from './test-run-fixture.ts';

const flow = workflowName('flow');
const here = { ...scope, workflowName: flow };

/** A workflow `a>z z>b`, where z sleeps for an hour: a run stays open until the test wakes it. */
const createEnvWithSlots = async (maxConcurrentRuns = 1, graph = 'a>z z>b'): Promise<TestEnv> => {
  const env = createTestEnv();
  await env.publish({ ...workflow('flow', graph, { z: { ms: hours(1) } }), options: { maxConcurrentRuns } });
  return env;
};

const begin = async (env: TestEnv, name: string, more: Parameters<TestEnv['start']>[0] = {}): Promise<RunAddress> => {
  const answer = await env.start({ workflowName: flow, idempotencyKey: name, ...more });
  if (answer.kind !== 'started') throw new Error(answer.kind);
  env.ports.clock.advance(minutes(1));
  return { ...scope, runId: answer.runId };
};
/** Processes the messages that are due, without advancing the clock. */
const work = async (env: TestEnv): Promise<void> => {
  for (let jobs = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()]; jobs.length > 0;) {
    for (const job of jobs) await env.take(job);
    jobs = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()];
  }
};
const statusesOf = (env: TestEnv, runs: readonly RunAddress[]) =>
  Promise.all(
    runs.map(async (run) => {
      const { state } = await env.fold(run);
      return isWaitingForSlot(state) ? 'waits' : state.progress.status;
    }),
  );
const several = async (env: TestEnv, count: number): Promise<readonly RunAddress[]> => {
  const runs: RunAddress[] = [];
  for (let index = 0; index < count; index += 1) runs.push(await begin(env, `run-${index}`));
  await work(env);
  return runs;
};
const taken = async (env: TestEnv) => (await env.ports.concurrencySlots.taken(here)).map(({ runId }) => runId);
const remainingItems = async (env: TestEnv) => [await taken(env), await env.ports.concurrencySlots.waiting(here, 9)];
const sweep = async (env: TestEnv): Promise<void> => {
  await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
  await work(env);
};

describe('a start', () => {
  it('beyond the slots is accepted but waits, and is admitted when a slot is free, in the order of the starts', async () => {
    const env = await createEnvWithSlots(2);
    const runs = await several(env, 4);
    expect(await statusesOf(env, runs)).toEqual(['running', 'running', 'waits', 'waits']);
    expect(env.attempts).toEqual(['a#1', 'a#1']);
    await wakeRun(env.worker, runs[1] ?? never());
    await work(env);
    expect(await statusesOf(env, runs)).toEqual(['running', 'completed', 'running', 'waits']);
    await env.settle();
    expect(await statusesOf(env, runs)).toEqual(['completed', 'completed', 'completed', 'completed']);
    expect(await remainingItems(env)).toEqual([[], []]);
  });

  it('of a workflow without the setting requests no slot', async () => {
    const env = createTestEnv({ wrap: (deps) => ({ ...deps, concurrencySlots: forbidden }) });
    await env.publish(workflow('flow', 'a>b'));
    const run = await begin(env, 'run');
    await env.settle();
    expect(await statusesOf(env, [run])).toEqual(['completed']);
  });

  it('while other runs wait does not overtake them', async () => {
    const env = await createEnvWithSlots();
    const [first, second] = await several(env, 2);
    await cancelRun(env.worker, first ?? never());
    // Its job is in the queue, and here another run's job is processed first.
    const late = await begin(env, 'late');
    const word = env.ports.jobs.takeDue();
    for (const job of word.toReversed()) await env.take(job);
    await work(env);
    expect(await statusesOf(env, [second ?? never(), late])).toEqual(['running', 'waits']);
  });

  it('with a later start time waits for it first, and is queued by that time', async () => {
    const env = await createEnvWithSlots();
    const availableAt = after(env.ports.clock.now(), minutes(30));
    const later = await begin(env, 'later', { availableAt });
    const [now] = await several(env, 1);
    expect(await statusesOf(env, [later, now ?? never()])).toEqual(['waits', 'running']);
    await cancelRun(env.worker, now ?? never());
    await work(env);
    expect([await statusesOf(env, [later]), await remainingItems(env)]).toEqual([['waits'], [[], []]]);
    env.ports.clock.set(availableAt);
    for (const { job } of env.ports.timers.takeDue()) await env.take(job);
    await work(env);
    expect(await statusesOf(env, [later])).toEqual(['running']);
  });

  it('of a rerun from a node takes over the earlier results, and continues after them when it has a slot', async () => {
    const env = await createEnvWithSlots(1, 'a>b b>d');
    const [first] = await several(env, 1);
    await env.publish({
      ...workflow('flow', 'a>b b>d d>z', { z: { ms: hours(1) } }),
      version: 2,
      options: { maxConcurrentRuns: 1 },
    });
    const holder = await begin(env, 'holder');
    await work(env);
    const again = await rerunRun(env.worker, {
      sourceRun: first ?? never(),
      idempotencyKey: 'r',
      bodyHash: 'r',
      version: 2,
      from: nodeId('d'),
    });
    if (again.kind !== 'started') throw new Error(again.kind);
    const run = { ...scope, runId: again.runId };
    await work(env);
    expect(await statusesOf(env, [holder, run])).toEqual(['running', 'waits']);
    env.attempts.length = 0;
    await wakeRun(env.worker, holder);
    await work(env);
    expect([await statusesOf(env, [run]), env.attempts]).toEqual([['running'], ['d#1']]);
  });
});

describe('a run that waits', () => {
  it('can be cancelled, and the next run is admitted in its place', async () => {
    const env = await createEnvWithSlots();
    const runs = await several(env, 3);
    await cancelRun(env.worker, runs[1] ?? never());
    await work(env);
    expect(await env.ports.concurrencySlots.waiting(here, 9)).toMatchObject([{ runId: runs[2]?.runId }]);
    await wakeRun(env.worker, runs[0] ?? never());
    await work(env);
    expect(await statusesOf(env, runs)).toEqual(['completed', 'cancelled', 'running']);
  });

  it('is not started by a wake-up, a resume or a recheck', async () => {
    const env = await createEnvWithSlots();
    const [, second] = await several(env, 2);
    const run = second ?? never();
    expect(await wakeRun(env.worker, run)).toEqual({ kind: 'woken', nodeIds: [] });
    await resumeRun(env.worker, run, { reason: 'go' });
    await env.take({ kind: 'recheck', run });
    await work(env);
    expect(await statusesOf(env, [run])).toEqual(['waits']);
  });

  it('fails at its deadline, which counts from its start', async () => {
    const env = createTestEnv();
    const options = { maxConcurrentRuns: 1, deadlineSeconds: 600 };
    await env.publish({ ...workflow('flow', 'a>s', { s: { name: 'paid' } }), options });
    const [, second] = await several(env, 2);
    for (let round = 0; round < 12; round += 1) {
      env.ports.clock.advance(minutes(2));
      await sweep(env);
    }
    const { state } = await env.fold(second ?? never());
    expect(state.progress).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
    expect(await remainingItems(env)).toEqual([[], []]);
  });

  it('shows that it waits, and is listed among the waiting runs', async () => {
    const env = await createEnvWithSlots(1);
    const [first, second] = await several(env, 2);
    const shown = async (run: RunAddress | undefined) => {
      const answer = await getRun(env.worker, run ?? never(), true);
      return answer.kind === 'found' ? answer.run.waitingForSlots : answer.kind;
    };
    expect([await shown(first), await shown(second)]).toEqual([undefined, 1]);
    env.ports.clock.advance(minutes(3));
    await sweep(env);
    const { heads } = await env.ports.index.listByState(scope, 'waiting', { limit: 9 });
    expect(heads.map(({ address }) => address.runId)).toContain(second?.runId);
  });

  it('is admitted by the sweep if every message was lost', async () => {
    const env = await createEnvWithSlots();
    const runs = await several(env, 2);
    await wakeRun(env.worker, runs[0] ?? never());
    for (const job of [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()]) if (job.kind === 'node') await env.take(job);
    env.ports.jobs.takeDue();
    expect(await statusesOf(env, runs)).toEqual(['completed', 'waits']);
    expect(await taken(env)).toEqual([runs[0]?.runId]);
    for (let round = 0; round < 12; round += 1) {
      env.ports.clock.advance(minutes(2));
      await sweep(env);
    }
    expect((await statusesOf(env, runs))[1]).toBe('running');
  });
});

describe('a slot', () => {
  it.each([
    ['ends well', async (env: TestEnv, run: RunAddress) => void (await wakeRun(env.worker, run))],
    ['is cancelled', async (env: TestEnv, run: RunAddress) => void (await cancelRun(env.worker, run))],
  ])('is released when its run %s', async (_how, end) => {
    const env = await createEnvWithSlots();
    const [run] = await several(env, 1);
    expect(await taken(env)).toEqual([run?.runId]);
    await end(env, run ?? never());
    await work(env);
    expect(await remainingItems(env)).toEqual([[], []]);
  });

  it('is released when its run fails', async () => {
    const env = createTestEnv({ answer: () => failing('invalid') });
    await env.publish({ ...workflow('flow', 'a>b'), options: { maxConcurrentRuns: 1 } });
    const runs = await several(env, 2);
    expect([await statusesOf(env, runs), await remainingItems(env)]).toEqual([
      ['failed', 'failed'],
      [[], []],
    ]);
  });

  it('of a test run counts for the same workflow, and is released when the test run is stopped and deleted', async () => {
    const env = await createEnvWithSlots();
    const draft = { ...definitionOf('flow', 'a>z', { z: { ms: hours(1) } }), options: { maxConcurrentRuns: 1 } };
    const test = await startTestRun(env, draft);
    await work(env);
    const [waiting] = await several(env, 1);
    expect(await statusesOf(env, [test, waiting ?? never()])).toEqual(['running', 'waits']);
    await stopTestRun(env.worker, test);
    await work(env);
    expect([await statusesOf(env, [waiting ?? never()]), await taken(env)]).toEqual([['running'], [waiting?.runId]]);
  });

  it('of a deleted test run is released even if the job for its end was lost', async () => {
    const env = await createEnvWithSlots();
    const test = await startTestRun(env, {
      ...definitionOf('flow', 'a>z', { z: { ms: hours(1) } }),
      options: { maxConcurrentRuns: 1 },
    });
    await work(env);
    await cancelRun(env.worker, test);
    env.ports.jobs.takeDue();
    expect(await taken(env)).toEqual([test.runId]);
    await stopTestRun(env.worker, test);
    await work(env);
    expect(await remainingItems(env)).toEqual([[], []]);
  });

  it('of a test run that waited when it was deleted stays free', async () => {
    const env = await createEnvWithSlots();
    const [holder] = await several(env, 1);
    const test = await startTestRun(env, { ...definitionOf('flow', 'a>b'), options: { maxConcurrentRuns: 1 } });
    await work(env);
    await stopTestRun(env.worker, test);
    await work(env);
    expect(await remainingItems(env)).toEqual([[holder?.runId], []]);
  });

  it('is counted by the run’s own version: a later version may have more', async () => {
    const env = await createEnvWithSlots(1);
    const old = await several(env, 2);
    await env.publish({ ...workflow('flow', 'a>z', { z: { ms: hours(1) } }), version: 2, options: { maxConcurrentRuns: 3 } });
    const recent = [await begin(env, 'y1'), await begin(env, 'y2'), await begin(env, 'y3')];
    await work(env);
    expect([await statusesOf(env, old), await statusesOf(env, recent)]).toEqual([
      ['running', 'waits'],
      ['running', 'running', 'waits'],
    ]);
    await cancelRun(env.worker, recent[0] ?? never());
    await work(env);
    // The run of the old version can have only the first slot, and does not block the others.
    expect([await statusesOf(env, old), await statusesOf(env, recent)]).toEqual([
      ['running', 'waits'],
      ['cancelled', 'running', 'running'],
    ]);
  });

  it('is never held by two runs at any crash point, and no run waits while a slot is free', async () => {
    const play = async (
      aim?: ConstructorParameters<typeof CrashableProcesses>[1],
    ): Promise<{ calls: number; fault?: string }> => {
      const env = await createEnvWithSlots(1, 'a>b');
      const runs = [await begin(env, 'r1'), await begin(env, 'r2'), await begin(env, 'r3')];
      const processes = new CrashableProcesses(env.deps, aim);
      const undone: (() => Promise<void>)[] = [];
      for (let round = 0; round < 12; round += 1) {
        const jobs = [...env.ports.jobs.takeSent(), ...env.ports.jobs.takeDue()];
        await Promise.all(
          jobs.map(async (job) => {
            const isDone = await survives(env.take(job, { worker: { ...env.worker, deps: processes.start() } }));
            if (!isDone) undone.push(() => env.take(job, { isRedelivered: true }));
          }),
        );
      }
      const { calls } = processes;
      for (const again of undone) await again();
      await work(env);
      for (let round = 0; round < 15; round += 1) {
        env.ports.clock.advance(minutes(2));
        await sweep(env);
      }
      const ended = (await statusesOf(env, runs)).every((status) => status === 'completed');
      const [held, waiting] = await remainingItems(env);
      return ended && held?.length === 0 && waiting?.length === 0 ? { calls } : { calls, fault: JSON.stringify([held, waiting]) };
    };
    const { calls } = await play();
    expect(calls).toBeGreaterThan(40);
    for (let call = 1; call <= calls; call += 1) {
      for (const kind of ['before', 'after'] as const)
        expect([call, kind, (await play({ call, kind })).fault]).toEqual([call, kind, undefined]);
    }
  });
});

const forbidden = new Proxy({} as TestEnv['deps']['concurrencySlots'], {
  get: (_none, name) => {
    throw new Error(`${String(name)} of the slots was called`);
  },
});

const never = (): never => {
  throw new Error('there is no such run');
};
