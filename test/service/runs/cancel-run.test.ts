import { describe, expect, it } from 'vitest';
import { runId } from '../../../lib/engine/ids.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { finished, createTestEnv, scope, workflow } from '../test-env.ts';

describe('cancelling a run', () => {
  it('ends it at once, cancels its open nodes and updates the head', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b a>d'));
    const run = await home.begin('flow');
    expect(await cancelRun(home.worker, run, 'no longer needed')).toEqual({ kind: 'cancelled' });
    const { state } = await home.fold(run);
    expect(state.progress).toMatchObject({ status: 'cancelled', reason: 'no longer needed' });
    expect(state.open.size).toBe(0);
    expect((await home.ports.log.head(run))?.projection.status).toBe('cancelled');
  });

  it('repeated changes nothing', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await cancelRun(home.worker, run);
    const { asOf } = (await home.fold(run)).state;
    expect(await cancelRun(home.worker, run)).toEqual({ kind: 'cancelled' });
    expect((await home.fold(run)).state.asOf).toBe(asOf);
  });

  it('of a completed or failed run is refused with its status', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await home.settle();
    expect(await cancelRun(home.worker, run)).toEqual({ kind: 'run_terminal', status: 'completed' });
  });

  it('of a missing run is not found', async () => {
    const home = createTestEnv();
    expect(await cancelRun(home.worker, { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({
      kind: 'not_found',
    });
  });

  it('wins over a later result, which changes nothing', async () => {
    let release: (() => void) | undefined;
    const home = createTestEnv({ answer: (node) => new Promise((resolve) => (release = () => resolve(finished(node)))) });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = home.take(job);
    await new Promise((resolve) => setImmediate(resolve));
    await cancelRun(home.worker, run);
    release?.();
    await taking;
    const { state } = await home.fold(run);
    expect(state.progress.status).toBe('cancelled');
    expect(home.ports.jobs.sent).toEqual([]);
  });

  it('aborts a running attempt within seconds', async () => {
    let isAborted = false;
    const home = createTestEnv();
    const worker = {
      ...home.worker,
      runAttempt: (_node: unknown, _input: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<never>(() => signal.addEventListener('abort', () => (isAborted = true))),
    };
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const taking = home.take(job, { worker });
    await new Promise((resolve) => setImmediate(resolve));
    await cancelRun(home.worker, run);
    home.ports.clock.advance(seconds(5));
    await taking;
    expect(isAborted).toBe(true);
    expect((await home.fold(run)).state.progress.status).toBe('cancelled');
  });

  it('that crashes after its commit is completed by the recheck it sent first', async () => {
    const home = createTestEnv({
      wrap: (deps: Deps) => ({
        ...deps,
        notices: { ...deps.notices, runStatusChanged: async () => Promise.reject(new Error('killed here')) },
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    await expect(cancelRun(home.worker, run)).rejects.toThrow('killed here');
    expect((await home.ports.log.head(run))?.projection.status).toBe('pending');
    const nudge = home.ports.jobs.delayed.find(({ job }) => job.kind === 'recheck');
    if (nudge === undefined) throw new Error('no nudge was left');
    await home.take(nudge.job, { worker: { ...home.worker, deps: Object.assign(home.ports, { settings: home.deps.settings }) } });
    expect((await home.ports.log.head(run))?.projection.status).toBe('cancelled');
  });
});
