/**
 * The crash matrix of a start: its process crashes before or after each port call, then the client repeats the request. The repetition
 * is answered as if nothing had happened, one run exists, and it completes. The nodes run once unless their own process crashed.
 */
import { describe, expect, it } from 'vitest';
import { defined } from '../../lib/base/defined.ts';
import { type RunAddress, workflowName } from '../../lib/engine/ids.ts';
import type { RunEnd } from '../../lib/engine/log/fold.ts';
import { after, minutes, seconds } from '../../lib/engine/time.ts';
import type { JobCalls } from '../../lib/ports/jobs.ts';
import { beginSweeping } from '../../lib/service/execution/begin-sweeping.ts';
import { handleCalledJob } from '../../lib/service/execution/handle-job.ts';
import { sweepRuns } from '../../lib/service/execution/sweep-runs.ts';
import { startAndWait } from '../../lib/service/runs/start-and-wait.ts';
import { type StartRequest, startRun } from '../../lib/service/runs/start-run.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { codeManifest, deploy } from './code-test-env.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';
import { ScriptedPrograms, functionCommand } from './scripted-programs.ts';
import { type TestEnv, createTestEnv, scope, workflow } from './test-env.ts';

/** `scripts`: a graph that begins with two scripts; the called worker may write the head. */
type Kind = 'graph' | 'code' | 'scripts';
type Mode = 'plain' | 'waits';

const nameOf = { graph: 'flow', code: 'order', scripts: 'scripts' } as const;

async function prepared(kind: Kind): Promise<TestEnv> {
  const programs = new ScriptedPrograms(() => env.ports.clock, [[functionCommand('charge')]]);
  const env: TestEnv = createTestEnv({ programs });
  await beginSweeping(env.deps);
  await env.publish(workflow('flow', 'a>b'));
  await env.publish(workflow('scripts', 'a>b b>m', { a: { idempotent: true }, b: { idempotent: true } }));
  if (kind === 'code') await deploy(env, codeManifest('v1'));
  return env;
}

/** One request, by a process that may crash. @returns the run, if it was answered */
async function ask(
  env: TestEnv,
  processes: CrashableProcesses,
  kind: Kind,
  mode: Mode,
  workers = new CrashableProcesses(env.deps),
): Promise<RunAddress | undefined> {
  const deps = processes.start();
  const request: StartRequest = {
    scope,
    idempotencyKey: 'k1',
    bodyHash: 'h1',
    workflowName: workflowName(nameOf[kind]),
    input: { n: 1 },
  };
  // The called function is another process. It does not crash with the request.
  const calls: JobCalls = {
    call: async (call) => {
      if (call.isUnwritten !== true) return (await env.take(call.job), { kind: 'ended' });
      const worker = { ...env.worker, deps: workers.start(), foldCache: new FoldCache() };
      const delivery = { isRedelivered: false, mustEndAt: after(env.ports.clock.now(), minutes(15)) };
      let end: RunEnd | undefined;
      const isDone = await survives(handleCalledJob(worker, call, delivery).then((ended) => void (end = ended)));
      return isDone ? defined({ kind: 'ended', end }) : { kind: 'unknown' };
    },
  };
  const decider = { ...env.worker, deps };
  let run: RunAddress | undefined;
  const work = async (): Promise<void> => {
    const answering = mode === 'plain' ? startRun(decider, request) : startAndWait(decider, calls, request, seconds(1));
    const answer = await answering;
    if (answer.kind !== 'started') throw new Error(answer.kind);
    run = { ...scope, runId: answer.runId };
  };
  const done = survives(work());
  // The wait sleeps on the virtual clock.
  for (let idle = 0; idle < 5; idle += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    const next = env.ports.clock.nextWakeAt();
    if (next === undefined) continue;
    env.ports.clock.set(next);
    idle = 0;
  }
  await done;
  return run;
}

async function runsOf(env: TestEnv): Promise<readonly string[]> {
  const { heads } = await env.ports.index.list(scope, { limit: 10 });
  return heads.map(({ address }) => address.runId);
}

async function settleWithSweeps(env: TestEnv): Promise<void> {
  await env.settle();
  for (let minute = 0; minute < 6; minute += 1) {
    env.ports.clock.advance(minutes(1));
    await sweepRuns(env.worker, after(env.ports.clock.now(), minutes(1)));
    await env.settle();
  }
}

async function crashed(kind: Kind, modes: readonly [Mode, Mode], crash?: CrashPoint) {
  const env = await prepared(kind);
  const processes = new CrashableProcesses(env.deps, crash);
  const first = await ask(env, processes, kind, modes[0]);
  const { calls } = processes;
  const second = await ask(env, new CrashableProcesses(env.deps), kind, modes[1]);
  await settleWithSweeps(env);
  return { env, first, second, calls };
}

describe.each([
  ['graph', ['plain', 'plain']],
  ['graph', ['waits', 'waits']],
  ['graph', ['waits', 'plain']],
  ['graph', ['plain', 'waits']],
  ['scripts', ['waits', 'waits']],
  ['scripts', ['waits', 'plain']],
  ['scripts', ['plain', 'waits']],
  ['code', ['plain', 'plain']],
  ['code', ['waits', 'waits']],
] as const)('a start of a %s run, first and repeated: %j', (kind, modes) => {
  it('is answered the same after a crash at any call; its run completes once', async () => {
    const { calls } = await crashed(kind, modes);
    // Of a run that begins with a script, the worker makes the others.
    expect(calls).toBeGreaterThan(kind === 'scripts' ? 3 : 4);
    for (let call = 1; call <= calls; call += 1) {
      for (const at of ['before', 'after'] as const) {
        const { env, first, second } = await crashed(kind, modes, { call, kind: at });
        const where = `${at} call ${call}`;
        expect(second, where).toBeDefined();
        if (first !== undefined) expect(first, where).toEqual(second);
        expect(await runsOf(env), where).toEqual([second?.runId]);
        if (second !== undefined) expect((await env.fold(second)).state.progress.status, where).toBe('completed');
        if (kind === 'graph') expect(env.attempts, where).toEqual(['a#1', 'b#1']);
        if (kind === 'scripts')
          expect(
            env.attempts.filter((attempt) => attempt === 'm#1'),
            where,
          ).toHaveLength(1);
      }
    }
  });
});

describe.each(['before', 'after'] as const)('a worker that is called with an unwritten run and crashes %s a call', (at) => {
  it('leaves a run that completes once; its request, or the repeated one, is answered', async () => {
    const calm = await prepared('scripts');
    const counted = new CrashableProcesses(calm.deps);
    await ask(calm, new CrashableProcesses(calm.deps), 'scripts', 'waits', counted);
    expect(counted.calls).toBeGreaterThan(2);
    for (let call = 1; call <= counted.calls; call += 1) {
      const env = await prepared('scripts');
      const workers = new CrashableProcesses(env.deps, { call, kind: at });
      const first = await ask(env, new CrashableProcesses(env.deps), 'scripts', 'waits', workers);
      const second = await ask(env, new CrashableProcesses(env.deps), 'scripts', 'waits');
      await settleWithSweeps(env);
      expect([first, second], `call ${call}`).toEqual([second, first]);
      expect(await runsOf(env), `call ${call}`).toEqual([first?.runId]);
      if (first === undefined) throw new Error('no answer');
      expect((await env.fold(first)).state.progress.status, `call ${call}`).toBe('completed');
      // A crash after the node, and before its commit, executes it again.
      expect(env.attempts.filter((attempt) => attempt === 'm#1').length, `call ${call}`).toBeLessThanOrEqual(2);
    }
  });
});

it('a repeated key is free again after its time, although its run is still stored', async () => {
  const env = await prepared('graph');
  const first = await ask(env, new CrashableProcesses(env.deps), 'graph', 'plain');
  await settleWithSweeps(env);
  env.ports.clock.advance(env.deps.settings.idempotencyMs);
  const second = await ask(env, new CrashableProcesses(env.deps), 'graph', 'plain');
  expect(second).not.toEqual(first);
  expect(await runsOf(env)).toHaveLength(2);
});
