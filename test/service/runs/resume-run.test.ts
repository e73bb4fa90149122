import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runId } from '../../../lib/engine/ids.ts';
import { after, days } from '../../../lib/engine/time.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { loadPayload } from '../../../lib/service/run-log/payloads.ts';
import { resumeRun } from '../../../lib/service/runs/resume-run.ts';
import { startCodeRun, handleAllMessages } from '../code-test-env.ts';
import { type TestEnv, createTestEnv, scope, sweepFourMinutesLater, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

async function sleepingCode(wrap: (deps: Deps) => Deps) {
  const { env, run } = await startCodeRun(
    [[{ kind: 'sleep', key: 'nap', wakeAt: after(createTestEnv().ports.clock.now(), days(3)) }]],
    {
      wrap,
    },
  );
  await handleAllMessages(env);
  return { env, run };
}

async function sleeping(env: TestEnv) {
  await env.publish(workflow('flow', 'a>z1 z1>b', { z1: { ms: days(3) } }));
  const run = await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  return run;
}

async function sleepingGraph(wrap: (deps: Deps) => Deps) {
  const env = createTestEnv({ wrap });
  return { env, run: await sleeping(env) };
}

describe('resuming a run', () => {
  it('wakes it, and its log stores the reason and the payload', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    expect(await resumeRun(env.worker, run, { reason: 'paid', payload: { amount: 3 } })).toEqual({
      kind: 'resumed',
      isReplay: false,
    });
    const commits = await env.ports.log.commitsAfter(run, (await env.fold(run)).head.commit.number);
    expect(commits.flatMap(({ events }) => events)).toContainEqual({
      type: 'RUN_RESUMED',
      reason: 'paid',
      payload: { value: { amount: 3 } },
    });
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('offloads a large payload', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    // Random text, which does not compress.
    const text = Array.from({ length: 600 }, (_, index) => createHash('sha256').update(String(index)).digest('hex')).join('');
    await resumeRun(env.worker, run, { payload: { text } });
    const commits = await env.ports.log.commitsAfter(run, (await env.fold(run)).head.commit.number);
    const [resumed] = commits.flatMap(({ events }) => events.flatMap((event) => (event.type === 'RUN_RESUMED' ? [event] : [])));
    if (resumed?.payload === undefined || !('ref' in resumed.payload)) throw new Error('the payload is in the log itself');
    expect(await loadPayload(env.deps, run, resumed.payload.ref)).toEqual({ text });
  });

  it('of an ended or missing run is refused', async () => {
    const env = createTestEnv();
    const run = await sleeping(env);
    await cancelRun(env.worker, run);
    expect(await resumeRun(env.worker, run, {})).toEqual({ kind: 'run_terminal', status: 'cancelled' });
    const missing = { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') };
    expect(await resumeRun(env.worker, missing, {})).toEqual({ kind: 'not_found' });
  });

  it.each(['a graph', 'code'] as const)(
    'two concurrent requests with one key are one resumption of %s, and both callers get that result',
    async (kind) => {
      const idempotency = { key: 'k', bodyHash: 'h' };
      let overtake: (() => Promise<unknown>) | undefined;
      const wrap = (deps: Deps): Deps => ({
        ...deps,
        log: overrideMethods(deps.log, {
          put: async (...commit) => {
            const other = overtake;
            overtake = undefined;
            await other?.();
            return deps.log.put(...commit);
          },
        }),
      });
      const { env, run } = kind === 'code' ? await sleepingCode(wrap) : await sleepingGraph(wrap);
      let second: unknown;
      overtake = async () => {
        second = await resumeRun(env.worker, run, { idempotency });
      };
      expect(await resumeRun(env.worker, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: true });
      expect(second).toEqual({ kind: 'resumed', isReplay: false });
      const commits = await env.ports.log.commitsAfter(run, (await env.fold(run)).head.commit.number);
      expect(commits.flatMap(({ events }) => events).filter(({ type }) => type === 'RUN_RESUMED')).toHaveLength(1);
      expect(await resumeRun(env.worker, run, { idempotency })).toEqual({ kind: 'resumed', isReplay: true });
    },
  );

  it('that crashes after its commit is completed by the sweep, which finds the due entry it wrote first', async () => {
    let isKilled = false;
    const env = createTestEnv({
      wrap: (deps: Deps) => ({
        ...deps,
        jobs: overrideMethods(deps.jobs, {
          send: async (jobs) => (isKilled ? Promise.reject(new Error('killed here')) : deps.jobs.send(jobs)),
        }),
      }),
    });
    const run = await sleeping(env);
    // The due entry of the start is used up.
    await sweepFourMinutesLater(env);
    isKilled = true;
    await expect(resumeRun(env.worker, run, {})).rejects.toThrow('killed here');
    isKilled = false;
    await sweepFourMinutesLater(env);
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });
});
