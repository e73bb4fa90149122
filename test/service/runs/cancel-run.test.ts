import { describe, expect, it } from 'vitest';
import { runId } from '../../../lib/engine/ids.ts';
import { days, seconds } from '../../../lib/engine/time.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { overrideMethods } from '../override-methods.ts';
import { finished, createTestEnv, scope, sweepFourMinutesLater, workflow } from '../test-env.ts';

describe('cancelling a run', () => {
  it('ends it at once, cancels its open nodes and updates the head', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b a>d'));
    const run = await env.begin('flow');
    expect(await cancelRun(env.worker, run, 'no longer needed')).toEqual({ kind: 'cancelled' });
    const { state } = await env.fold(run);
    expect(state.progress).toMatchObject({ status: 'cancelled', reason: 'no longer needed' });
    expect(state.open.size).toBe(0);
    expect((await env.ports.log.head(run))?.projection.status).toBe('cancelled');
  });

  it('repeated changes nothing', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    await cancelRun(env.worker, run);
    const { asOf } = (await env.fold(run)).state;
    expect(await cancelRun(env.worker, run)).toEqual({ kind: 'cancelled' });
    expect((await env.fold(run)).state.asOf).toBe(asOf);
  });

  it('of a completed or failed run is refused with its status', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    await env.settle();
    expect(await cancelRun(env.worker, run)).toEqual({ kind: 'run_terminal', status: 'completed' });
  });

  it('of a missing run is not found', async () => {
    const env = createTestEnv();
    expect(await cancelRun(env.worker, { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({
      kind: 'not_found',
    });
  });

  it('wins over a later result, which changes nothing', async () => {
    let release: (() => void) | undefined;
    const env = createTestEnv({ answer: (node) => new Promise((resolve) => (release = () => resolve(finished(node)))) });
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = env.take(job);
    await new Promise((resolve) => setImmediate(resolve));
    await cancelRun(env.worker, run);
    release?.();
    await taking;
    const { state } = await env.fold(run);
    expect(state.progress.status).toBe('cancelled');
    expect(env.ports.jobs.sent).toEqual([]);
  });

  it('aborts a running attempt within seconds', async () => {
    let isAborted = false;
    const env = createTestEnv();
    const worker = {
      ...env.worker,
      runAttempt: (_node: unknown, _input: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<never>(() => signal.addEventListener('abort', () => (isAborted = true))),
    };
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = env.take(job, { worker });
    await new Promise((resolve) => setImmediate(resolve));
    await cancelRun(env.worker, run);
    env.ports.clock.advance(seconds(5));
    await taking;
    expect(isAborted).toBe(true);
    expect((await env.fold(run)).state.progress.status).toBe('cancelled');
  });

  it('that crashes after its commit is completed by the sweep, which finds the due entry it wrote first', async () => {
    let isKilled = true;
    const env = createTestEnv({
      wrap: (deps: Deps) => ({
        ...deps,
        notices: overrideMethods(deps.notices, {
          runStatusChanged: async (notice) =>
            isKilled ? Promise.reject(new Error('killed here')) : deps.notices.runStatusChanged(notice),
        }),
      }),
    });
    await env.publish(workflow('flow', 'a>z1 z1>b', { z1: { ms: days(3) } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    // The due entry of the start is used up.
    await sweepFourMinutesLater(env);
    await expect(cancelRun(env.worker, run)).rejects.toThrow('killed here');
    expect((await env.ports.log.head(run))?.projection.status).not.toBe('cancelled');
    isKilled = false;
    await sweepFourMinutesLater(env);
    expect((await env.ports.log.head(run))?.projection.status).toBe('cancelled');
  });
});
