/** A start that waits for its run: which function executes it, what it answers, and who recovers it. */
import { describe, expect, it } from 'vitest';
import { firstCommit } from '../../../lib/engine/ids.ts';
import type { Instant } from '../../../lib/engine/time.ts';
import { after, durationMs, minutes, seconds } from '../../../lib/engine/time.ts';
import type { JobCall, JobCallResult, JobCalls, WorkJob } from '../../../lib/ports/jobs.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { beginSweeping } from '../../../lib/service/execution/begin-sweeping.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import { sendSignal } from '../../../lib/service/runs/send-signal.ts';
import { type AwaitedStart, startAndWait } from '../../../lib/service/runs/start-and-wait.ts';
import { startRun } from '../../../lib/service/runs/start-run.ts';
import { workflowName } from '../../../lib/engine/ids.ts';
import { codeManifest, deploy } from '../code-test-env.ts';
import { overrideMethods } from '../override-methods.ts';
import { ScriptedPrograms, functionCommand } from '../scripted-programs.ts';
import { type TestEnv, createTestEnv, failing, scope, workflow } from '../test-env.ts';

const request = { scope, idempotencyKey: 'k1', bodyHash: 'h1', workflowName: workflowName('flow'), input: {} };

/** The functions of the environment: each call executes the job, as a delivery of its queue does. */
class Functions implements JobCalls {
  readonly called: WorkJob[] = [];
  readonly #env: () => TestEnv;
  readonly #execute: (job: WorkJob, env: TestEnv, call: JobCall<WorkJob>) => Promise<JobCallResult>;

  constructor(
    env: () => TestEnv,
    execute = async (job: WorkJob, of: TestEnv): Promise<JobCallResult> => (await of.take(job), { kind: 'ended' }),
  ) {
    this.#env = env;
    this.#execute = execute;
  }

  call(call: JobCall<WorkJob>): Promise<JobCallResult> {
    this.called.push(call.job);
    return this.#execute(call.job, this.#env(), call);
  }
}

const waits = (env: TestEnv, calls: JobCalls, wait = seconds(20), more = {}): Promise<AwaitedStart> =>
  startAndWait(env.worker, calls, { ...request, ...more }, wait);

/** Advances the virtual clock from one wake-up to the next until the work has ended. */
async function drive<Result>(
  env: TestEnv,
  work: Promise<Result>,
  atEachStep: () => Promise<void> = async () => {},
): Promise<Result> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  for (let idle = 0; !isDone && idle < 3;) {
    await new Promise((resolve) => setImmediate(resolve));
    const next = env.ports.clock.nextWakeAt();
    if (isDone || next === undefined) {
      idle += 1;
      continue;
    }
    idle = 0;
    env.ports.clock.set(next);
    await atEachStep();
  }
  return done;
}

const sweepLater = async (env: TestEnv): Promise<void> => {
  for (let minute = 0; minute < 6; minute += 1) {
    env.ports.clock.advance(minutes(1));
    await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
    await env.settle();
  }
};

const progressOf = (result: AwaitedStart) => {
  if (result.kind !== 'started') throw new Error(result.kind);
  return { status: result.progress?.status, output: result.output, runId: result.runId, isReplay: result.isReplay };
};
const runOf = (result: AwaitedStart) => ({ ...scope, runId: progressOf(result).runId });

async function published(graph: string, options: Parameters<typeof createTestEnv>[0] = {}, configs = {}): Promise<TestEnv> {
  const env = createTestEnv(options);
  await beginSweeping(env.deps);
  await env.publish(workflow('flow', graph, configs));
  return env;
}

describe('a start that waits', () => {
  it('answers with the output of a run that ends in time, and no queue gets a job', async () => {
    const env = await published('a>b b>d');
    const functions = new Functions(() => env);
    const result = progressOf(await drive(env, waits(env, functions)));
    expect(result).toMatchObject({ status: 'completed', output: { value: null }, isReplay: false });
    expect(functions.called).toMatchObject([{ kind: 'node', nodeId: 'a', commit: firstCommit, resend: 0 }]);
    expect(env.attempts).toEqual(['a#1', 'b#1', 'd#1']);
    expect(env.ports.jobs.takeSent()).toEqual([]);
  });

  it('answers with the failure of a run that fails in time', async () => {
    const env = await published('a>b', { answer: () => failing('invalid') });
    expect(progressOf(await drive(env, waits(env, new Functions(() => env))))).toMatchObject({
      status: 'failed',
      output: undefined,
    });
  });

  it('answers a run that ends in its first commit without a call', async () => {
    const env = await published('c1>e1');
    const functions = new Functions(() => env);
    expect(progressOf(await drive(env, waits(env, functions)))).toMatchObject({ status: 'completed' });
    expect(functions.called).toEqual([]);
  });

  it.each([
    ['a signal', 's1', { s1: { name: 'paid', correlation: 'o7' } }],
    ['a later time', 'z1', { z1: { ms: 600_000 } }],
  ])('answers at once that a run has not ended which waits for %s', async (_name, node, configs) => {
    const env = await published(`a>${node} ${node}>b`, {}, configs);
    const before = env.ports.clock.now();
    expect(progressOf(await drive(env, waits(env, new Functions(() => env))))).toMatchObject({ status: 'running' });
    expect(env.ports.clock.now()).toBe(before);
  });

  it('waits for a function until its time is over, and the function continues', async () => {
    const env = await published('a>b');
    let finish = (): void => {};
    const functions = new Functions(
      () => env,
      async (job, of) => {
        await new Promise<void>((resolve) => (finish = resolve));
        await of.take(job);
        return { kind: 'ended' };
      },
    );
    const before = env.ports.clock.now();
    const result = await drive(env, waits(env, functions, seconds(7)));
    expect([progressOf(result).status, env.ports.clock.now() - before]).toEqual(['running', 7_000]);
    finish();
    await new Promise((resolve) => setImmediate(resolve));
    await env.settle();
    expect((await env.fold(runOf(result))).state.progress.status).toBe('completed');
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('reads the log until a run with parallel nodes ends, of which queues have the others', async () => {
    const env = await published('a>d b>d');
    const functions = new Functions(() => env);
    const result = progressOf(await drive(env, waits(env, functions), () => env.settle()));
    expect(result).toMatchObject({ status: 'completed' });
    expect(functions.called).toMatchObject([{ nodeId: 'a' }]);
    expect(env.attempts.toSorted()).toEqual(['a#1', 'b#1', 'd#1']);
  });

  it('sends the job to its queue if the function refuses it', async () => {
    const env = await published('a>b');
    const refusing = new Functions(
      () => env,
      async () => ({ kind: 'refused' }),
    );
    const result = progressOf(await drive(env, waits(env, refusing), () => env.settle()));
    expect(result).toMatchObject({ status: 'completed' });
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('answers that the run has not ended if the function refuses and the queue is unavailable; the sweep completes it', async () => {
    const env = await published('a>b');
    const deps = {
      ...env.deps,
      jobs: overrideMethods(env.deps.jobs, { send: () => Promise.reject(new Unavailable('the queue')) }),
    };
    const refusing = new Functions(
      () => env,
      async () => ({ kind: 'refused' }),
    );
    const result = await drive(env, startAndWait({ ...env.worker, deps }, refusing, request, seconds(2)));
    expect(progressOf(result).status).toBe('running');
    await sweepLater(env);
    expect((await env.fold(runOf(result))).state.progress.status).toBe('completed');
  });

  it.each(['before it began', 'after it ran the node'])('whose function crashes %s is completed by the sweep', async (when) => {
    const env = await published('a>b');
    const crashing = new Functions(
      () => env,
      async (job, of) => {
        // The commit of the node is lost with the function.
        const log = overrideMethods(of.deps.log, { put: () => Promise.reject(new Error('crashed')) });
        if (when !== 'before it began')
          await of.take(job, { worker: { ...of.worker, deps: { ...of.deps, log } } }).catch(() => {});
        return { kind: 'unknown' };
      },
    );
    const result = await drive(env, waits(env, crashing, seconds(3)));
    expect(progressOf(result).status).toBe('running');
    expect(env.ports.jobs.takeSent()).toEqual([]);
    await sweepLater(env);
    expect((await env.fold(runOf(result))).state.progress.status).toBe('completed');
  });

  it('that crashed between its head and the call is completed by the sweep, and its repetition calls nothing', async () => {
    const env = await published('a>b');
    await startRun(env.worker, { ...request, runsFirst: () => undefined });
    const functions = new Functions(() => env);
    const result = await drive(env, waits(env, functions, seconds(2)));
    expect([progressOf(result), functions.called]).toMatchObject([{ status: 'running', isReplay: true }, []]);
    expect(env.ports.jobs.takeSent()).toEqual([]);
    await sweepLater(env);
    expect((await env.fold(runOf(result))).state.progress.status).toBe('completed');
  });

  it('is answered as cancelled if another request cancels the run meanwhile', async () => {
    const env = await published('a>s1 s1>b', {}, { s1: { name: 'paid', correlation: 'o7' } });
    const functions = new Functions(
      () => env,
      async (job) => {
        await cancelRun(env.worker, job.run, 'not wanted');
        return { kind: 'ended' };
      },
    );
    expect(progressOf(await drive(env, waits(env, functions)))).toMatchObject({ status: 'cancelled' });
  });

  it('is answered with the end that a signal brings in time, while a repetition waits', async () => {
    const env = await published('a>s1 s1>b', {}, { s1: { name: 'paid', correlation: 'o7' } });
    await drive(env, waits(env, new Functions(() => env)));
    await sendSignal(env.worker, scope, { name: 'paid', correlation: 'o7', payload: 1, bodyHash: 'x' });
    const again = new Functions(() => env);
    const result = progressOf(await drive(env, waits(env, again), () => env.settle()));
    expect([result, again.called]).toMatchObject([{ status: 'completed', isReplay: true }, []]);
  });
});

describe('two requests of one key', () => {
  it('execute the run once, whichever of them wrote the head: the other one waits for its end', async () => {
    const env = await published('a>b');
    const functions = new Functions(() => env);
    const both = Promise.all([waits(env, functions), waits(env, functions)]);
    const [one, other] = (await drive(env, both)).map(progressOf);
    expect([one?.status, other?.status, one?.runId === other?.runId]).toEqual(['completed', 'completed', true]);
    expect(functions.called).toHaveLength(1);
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('of which one does not wait and finds the head of the other sends no job: the function has it', async () => {
    const env = await published('a>b');
    const functions = new Functions(() => env);
    const [waited] = await drive(env, Promise.all([waits(env, functions), startRun(env.worker, request)]));
    expect(progressOf(waited).status).toBe('completed');
    expect(env.ports.jobs.takeSent()).toEqual([]);
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  it('with other bodies conflict', async () => {
    const env = await published('a>b');
    const functions = new Functions(() => env);
    await drive(env, waits(env, functions));
    expect(await waits(env, functions, seconds(1), { bodyHash: 'h2' })).toEqual({ kind: 'idempotency_conflict' });
  });

  it('with an unknown outcome of the put call nothing: the sweep completes the run', async () => {
    const env = await published('a>b');
    const stored: Instant[] = [];
    const log = overrideMethods(env.deps.log, {
      create: async (run) => {
        const result = await env.ports.log.create(run);
        stored.push(run.createdAt);
        if (stored.length === 1) throw new Unavailable('the answer of the put');
        return result;
      },
    });
    const functions = new Functions(() => env);
    const worker = { ...env.worker, deps: { ...env.deps, log } };
    const result = await drive(env, startAndWait(worker, functions, request, seconds(2)));
    expect([progressOf(result).status, functions.called]).toEqual(['running', []]);
    await sweepLater(env);
    expect((await env.fold(runOf(result))).state.progress.status).toBe('completed');
  });
});

describe('fair shares', () => {
  it('keep a job of a project in the node queue, which limits it', async () => {
    const env = await published('a>b');
    const settings = { ...env.deps.settings, shares: { slow: 2, regular: 4 } };
    const functions = new Functions(() => env);
    const limited = { ...env.worker, deps: { ...env.deps, settings } };
    const result = await drive(env, startAndWait(limited, functions, request, durationMs(20_000)), () => env.settle());
    expect([progressOf(result).status, functions.called]).toEqual(['completed', []]);
  });
});

describe('a run of deployed code', () => {
  it('is answered with its output, and its function gets the workflow task with the head of the run', async () => {
    const code: ScriptedPrograms = new ScriptedPrograms(() => env.ports.clock, [[functionCommand('charge')]]);
    const env: TestEnv = createTestEnv({ programs: code });
    await beginSweeping(env.deps);
    await deploy(env, codeManifest('v1'));
    const functions = new Functions(() => env);
    const started = startAndWait(env.worker, functions, { ...request, workflowName: workflowName('order') }, seconds(20));
    expect(progressOf(await drive(env, started))).toMatchObject({ status: 'completed', output: { value: ['charge'] } });
    expect(functions.called).toMatchObject([{ kind: 'workflow_task', creation: { kind: 'code' } }]);
    expect(env.ports.jobs.takeMessages()).toEqual([]);
  });
});
