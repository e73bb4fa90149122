/** A start that waits for a run of scripts: the called worker writes the head, with the results of the scripts. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { WorkflowVersion } from '../../../lib/engine/graph/definition.ts';
import { type RunAddress, firstCommit, workflowName } from '../../../lib/engine/ids.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { maxPackAge } from '../../../lib/engine/log/commit.ts';
import { after, durationMs, minutes, seconds } from '../../../lib/engine/time.ts';
import type { JobCall, JobCallResult, JobCalls, WorkJob } from '../../../lib/ports/jobs.ts';
import type { RunLog } from '../../../lib/ports/run-log.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { beginSweeping } from '../../../lib/service/execution/begin-sweeping.ts';
import { handleCalledJob } from '../../../lib/service/execution/handle-job.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { type AwaitedStart, startAndWait } from '../../../lib/service/runs/start-and-wait.ts';
import { startRun } from '../../../lib/service/runs/start-run.ts';
import { FoldCache } from '../../../lib/service/run-log/fold-cache.ts';
import type { JobHandler } from '../../../lib/service/worker.ts';
import { overrideMethods } from '../override-methods.ts';
import { type TestEnv, createTestEnv, failing, finished, scope, workflow } from '../test-env.ts';

const request = { scope, idempotencyKey: 'k1', bodyHash: 'h1', workflowName: workflowName('flow'), input: {} };

/** The workflow `flow`, whose nodes of the given names are idempotent. */
const flow = (drawn: string, idempotent: readonly string[], configs: Record<string, JsonObject> = {}): WorkflowVersion =>
  workflow('flow', drawn, {
    ...configs,
    ...Object.fromEntries(idempotent.map((id) => [id, { ...configs[id], idempotent: true }])),
  });

const chain = flow('a>b b>m m>x', ['a', 'b', 'm', 'x']);

type Puts = Pick<RunLog, 'create' | 'put' | 'project'>;

interface House {
  readonly env: TestEnv;
  /** calls that changed the log, in their order */
  readonly writes: string[];
  readonly calls: JobCall<WorkJob>[];
}

async function housing(version: WorkflowVersion, options: Parameters<typeof createTestEnv>[0] = {}): Promise<House> {
  const writes: string[] = [];
  const wrap: Parameters<typeof createTestEnv>[0] = {
    ...options,
    wrap: (deps) => {
      const puts: Puts = {
        create: (run, ended) => (writes.push('create'), deps.log.create(run, ended)),
        put: (run, commit, expiresAt) => (writes.push(`put ${commit.number}`), deps.log.put(run, commit, expiresAt)),
        project: (run, projection, expiresAt) => (writes.push('project'), deps.log.project(run, projection, expiresAt)),
      };
      return { ...deps, log: overrideMethods(deps.log, puts) };
    },
  };
  const env = createTestEnv(wrap);
  env.ports.notices.runEvents = 'failed';
  await beginSweeping(env.deps);
  await env.publish(version);
  return { env, writes, calls: [] };
}

/** A worker that a request calls, or another one in its place. */
const workerOf = (env: TestEnv, log: Partial<RunLog> = {}): JobHandler => ({
  ...env.worker,
  deps: { ...env.deps, log: overrideMethods(env.deps.log, log) },
  foldCache: new FoldCache(),
});

async function executed(env: TestEnv, call: JobCall<WorkJob>, worker = workerOf(env)): Promise<JobCallResult> {
  const end = await handleCalledJob(worker, call, { isRedelivered: false, mustEndAt: after(env.ports.clock.now(), minutes(15)) });
  return end === undefined ? { kind: 'ended' } : { kind: 'ended', end };
}

const functionsOf = (
  { env, calls }: House,
  execute: (call: JobCall<WorkJob>) => Promise<JobCallResult> = (call) => executed(env, call),
): JobCalls => ({
  call: (call) => {
    calls.push(call);
    return execute(call);
  },
});

/** Advances the virtual clock from one wake-up to the next until the work has ended. */
async function drive<Result>(env: TestEnv, work: Promise<Result>): Promise<Result> {
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
  }
  return done;
}

const ask = (house: House, functions = functionsOf(house), wait = seconds(5), more = {}): Promise<AwaitedStart> =>
  drive(house.env, startAndWait(house.env.worker, functions, { ...request, ...more }, wait));

const startedBy = (result: AwaitedStart) => {
  if (result.kind !== 'started') throw new Error(result.kind);
  return result;
};
const runOf = (result: AwaitedStart): RunAddress => ({ ...scope, runId: startedBy(result).runId });

const statusOf = async (env: TestEnv, run: RunAddress): Promise<string> => (await env.fold(run)).state.progress.status;
const headOf = (env: TestEnv, run: RunAddress) => env.ports.log.head(run);

async function sweepLater(env: TestEnv): Promise<void> {
  for (let minute = 0; minute < 6; minute += 1) {
    env.ports.clock.advance(minutes(1));
    await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
    await env.settle();
  }
}

/** It does not compress. */
const randomText = (seed: string): string => createHash('sha256').update(seed).digest('base64url');

describe('a start that waits for scripts in a row', () => {
  it('is one write of the log: the head has the results and the end', async () => {
    const house = await housing(chain);
    const result = startedBy(await ask(house));
    expect(result).toMatchObject({ progress: { status: 'completed' }, output: { value: null }, isReplay: false });
    expect(house.writes).toEqual(['create']);
    expect(house.env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1']);
    expect(await headOf(house.env, runOf(result))).toMatchObject({
      commit: { number: firstCommit, by: 'worker' },
      projection: { status: 'completed', asOf: firstCommit },
    });
    expect(await house.env.ports.log.commitsAfter(runOf(result), firstCommit)).toEqual([]);
    expect(await statusOf(house.env, runOf(result))).toBe('completed');
    expect(house.env.ports.jobs.takeSent()).toEqual([]);
  });

  it('publishes a failure before the head shows it', async () => {
    const house = await housing(chain, { answer: (node) => (node === 'm' ? failing('invalid') : finished(node)) });
    const result = startedBy(await ask(house));
    expect(result.progress.status).toBe('failed');
    expect(house.writes).toEqual(['create', 'project']);
    expect(house.env.ports.notices.statusNotices).toMatchObject([{ status: 'failed' }]);
    expect((await headOf(house.env, runOf(result)))?.projection).toMatchObject({ status: 'failed' });
  });

  it('writes the head before a node with side effects begins', async () => {
    const seen: string[] = [];
    const house = await housing(flow('a>b b>m m>x', ['a', 'b', 'x']), {
      answer: (node) => (seen.push(`${node} after ${house.writes.join(', ')}`), finished(node)),
    });
    expect(startedBy(await ask(house)).progress.status).toBe('completed');
    expect(seen).toEqual(['a after ', 'b after ', 'm after create', 'x after create, put 2']);
  });

  it('writes the head before a node begins whose start is on record, although it is idempotent', async () => {
    const seen: string[] = [];
    const house = await housing(flow('a>b', ['a', 'b'], { b: { announces: true } }), {
      answer: (node) => (seen.push(`${node} after ${house.writes.join(', ')}`), finished(node)),
    });
    expect(startedBy(await ask(house)).progress.status).toBe('completed');
    expect(seen[1]).toMatch(/^b after create/);
  });

  it('writes the head while the first script runs, when it is as old as a pack', async () => {
    const house = await housing(chain, {
      answer: async (node) => {
        if (node === 'a') await house.env.ports.clock.sleep(durationMs(maxPackAge * 3));
        return finished(node);
      },
    });
    const result = startedBy(await ask(house));
    expect(result.progress.status).toBe('completed');
    expect(house.writes).toEqual(['create', 'put 2']);
  });

  it('dispatches the effects of the first commit: a sleep, and a parallel node', async () => {
    const house = await housing(flow('a>z1 z1>b a>m', ['a', 'b', 'm'], { z1: { ms: 60_000 } }));
    const result = startedBy(await ask(house, functionsOf(house), seconds(1)));
    expect(result.progress.status).toBe('running');
    expect(house.writes[0]).toBe('create');
    await house.env.settle();
    expect(await statusOf(house.env, runOf(result))).toBe('completed');
    expect(house.env.attempts.toSorted()).toEqual(['a#1', 'b#1', 'm#1']);
  });

  it('gives results that are large a commit of their own if the run goes on', async () => {
    const text = Array.from({ length: 20 }, (_, index) => randomText(`${index}`)).join('');
    const house = await housing(flow('a>b b>s1 s1>m', ['a', 'b', 'm'], { s1: { name: 'paid', correlation: 'o7' } }), {
      answer: (node) => finished(`${node}${text}`),
    });
    const result = startedBy(await ask(house, functionsOf(house), seconds(1)));
    expect(house.writes).toEqual(['create', 'put 2']);
    expect(house.env.attempts).toEqual(['a#1', 'b#1']);
    expect(result.progress.status).toBe('running');
  });

  it('gives results that are larger than a read unit a commit of their own, although the run has ended', async () => {
    const large = (node: string) => Array.from({ length: 60 }, (_, index) => randomText(`${node}${index}`)).join('');
    const house = await housing(chain, { answer: (node) => finished(large(node)) });
    const result = startedBy(await ask(house));
    expect(result.progress.status).toBe('completed');
    expect(house.writes).toEqual(['create', 'put 2', 'project']);
    expect((await headOf(house.env, runOf(result)))?.projection.status).toBe('completed');
    expect(house.env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1']);
  });
});

describe('who writes the head', () => {
  it('is the request if the function refuses the call, and the queue has the job', async () => {
    const house = await housing(chain);
    const result = await ask(
      house,
      functionsOf(house, async () => ({ kind: 'refused' })),
      seconds(1),
    );
    expect(startedBy(result).progress.status).toBe('running');
    expect(await headOf(house.env, runOf(result))).toMatchObject({ commit: { by: 'worker', number: firstCommit } });
    expect(house.env.ports.jobs.sent).toHaveLength(1);
    await house.env.settle();
    expect(await statusOf(house.env, runOf(result))).toBe('completed');
    expect(house.env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1']);
  });

  it('is the request if the outcome of the call is unknown and there is no head; the queue has the job', async () => {
    const house = await housing(chain);
    const result = await ask(
      house,
      functionsOf(house, async () => ({ kind: 'unknown' })),
      seconds(1),
    );
    expect(house.env.ports.jobs.sent).toHaveLength(1);
    await house.env.settle();
    expect(await statusOf(house.env, runOf(result))).toBe('completed');
  });

  it('is the worker if the answer of the call is lost; the request finds the head', async () => {
    const house = await housing(chain);
    const result = await ask(
      house,
      functionsOf(house, async (call) => {
        await executed(house.env, call);
        return { kind: 'unknown' };
      }),
    );
    expect(startedBy(result).progress.status).toBe('completed');
    expect(house.writes).toEqual(['create']);
    expect(house.env.ports.jobs.sent).toEqual([]);
  });

  it('is the request if the worker dies with its results, and the results are computed again', async () => {
    const house = await housing(chain);
    const result = await ask(
      house,
      functionsOf(house, async (call) => {
        const dying = workerOf(house.env, { create: () => Promise.reject(new Error('crashed')) });
        await executed(house.env, call, dying).catch(() => undefined);
        return { kind: 'unknown' };
      }),
      seconds(1),
    );
    await house.env.settle();
    expect(await statusOf(house.env, runOf(result))).toBe('completed');
    expect(house.env.attempts).toHaveLength(8);
  });

  it('is the request if the worker is late: the worker drops its results and runs nothing more', async () => {
    const house = await housing(flow('a>b b>m m>x', ['a', 'b']));
    let late: JobCall<WorkJob> | undefined;
    const result = await ask(
      house,
      functionsOf(house, async (call) => {
        late = call;
        return { kind: 'unknown' };
      }),
      seconds(1),
    );
    if (late === undefined) throw new Error('no call');
    expect(await executed(house.env, late)).toEqual({ kind: 'ended' });
    expect(house.env.attempts).toEqual(['a#1', 'b#1']);
    await house.env.settle();
    expect(await statusOf(house.env, runOf(result))).toBe('completed');
    expect(house.env.attempts).toEqual(['a#1', 'b#1', 'a#1', 'b#1', 'm#1', 'x#1']);
  });

  it('is a repeated request if the first one crashed, and it does not leave the head to a worker again', async () => {
    const house = await housing(chain);
    await startRun(house.env.worker, { ...request, runsFirst: () => undefined, takesUnwritten: () => undefined });
    expect(house.writes).toEqual([]);
    const result = startedBy(await ask(house));
    expect(result).toMatchObject({ isReplay: true, progress: { status: 'completed' } });
    expect(house.calls).toMatchObject([{ job: { nodeId: 'a' } }]);
    expect(house.calls[0]?.isUnwritten).toBeUndefined();
  });

  it('is the request itself if the caller chose the run id', async () => {
    const house = await housing(chain);
    const other = await housing(chain);
    const { runId } = startedBy(await ask(other));
    expect(startedBy(await ask(house, functionsOf(house), seconds(5), { runId })).progress.status).toBe('completed');
    expect(house.calls[0]?.isUnwritten).toBeUndefined();
    expect(house.writes[0]).toBe('create');
  });

  it('is one of two requests of a key: the run ends once, and both answer it', async () => {
    const house = await housing(flow('a>b b>m', ['a', 'b']));
    const functions = functionsOf(house);
    const both = Promise.all([
      startAndWait(house.env.worker, functions, request, seconds(5)),
      startAndWait(house.env.worker, functions, request, seconds(5)),
    ]);
    const [one, other] = await drive(house.env, both);
    expect([startedBy(one).progress.status, startedBy(other).progress.status]).toEqual(['completed', 'completed']);
    expect(runOf(one)).toEqual(runOf(other));
    expect(house.env.attempts.filter((attempt) => attempt === 'm#1')).toHaveLength(1);
  });

  it('is the worker if the answer of its put is lost; it repeats the put and answers the end', async () => {
    const house = await housing(chain);
    let puts = 0;
    const worker = workerOf(house.env, {
      create: async (run, ended) => {
        const result = await house.env.deps.log.create(run, ended);
        puts += 1;
        if (puts === 1) throw new Unavailable('the answer of the put');
        return result;
      },
    });
    const result = startedBy(
      await ask(
        house,
        functionsOf(house, (call) => executed(house.env, call, worker)),
      ),
    );
    expect([result.progress.status, puts]).toEqual(['completed', 2]);
  });

  it('is the worker, whose put with a lost answer left an open run to the sweep', async () => {
    const house = await housing(flow('a>b b>m', ['a', 'b']));
    let puts = 0;
    const worker = workerOf(house.env, {
      create: async (run, ended) => {
        const result = await house.env.deps.log.create(run, ended);
        puts += 1;
        if (puts === 1) throw new Unavailable('the answer of the put');
        return result;
      },
    });
    const result = await ask(
      house,
      functionsOf(house, (call) => executed(house.env, call, worker)),
      seconds(1),
    );
    expect(startedBy(result).progress.status).toBe('running');
    await sweepLater(house.env);
    expect(await statusOf(house.env, runOf(result))).toBe('completed');
    expect(house.env.attempts).toEqual(['a#1', 'b#1', 'm#1']);
  });

  it('is no process while the table refuses puts: the request is not answered, and its repetition starts the run', async () => {
    const house = await housing(chain);
    const down = { create: () => Promise.reject(new Unavailable('the table')) };
    const failingWorker = workerOf(house.env, down);
    const starting = startAndWait(
      { ...house.env.worker, deps: failingWorker.deps },
      functionsOf(house, async (call) => executed(house.env, call, failingWorker).catch(() => ({ kind: 'unknown' as const }))),
      request,
      seconds(5),
    );
    const outcome = starting.then(
      () => 'answered',
      (error: unknown) => error,
    );
    expect(await drive(house.env, outcome)).toBeInstanceOf(Unavailable);
    expect(startedBy(await ask(house))).toMatchObject({ isReplay: true, progress: { status: 'completed' } });
  });
});
