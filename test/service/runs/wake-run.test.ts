import { describe, expect, it } from 'vitest';
import { nodeId, runId } from '../../../lib/engine/ids.ts';
import { minuteOf } from '../../../lib/engine/log/heartbeat-timeout.ts';
import { after, days, hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { sweepRuns } from '../../../lib/service/execution/sweep-runs.ts';
import { wakeRun } from '../../../lib/service/runs/wake-run.ts';
import { type TestEnv, createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

const asleep = { z1: { ms: days(3) }, z2: { ms: hours(2) } };

/** A run with two sleeping nodes. */
async function sleeping(home: TestEnv, drawn = 'a>z1 a>z2 z1>b z2>b') {
  await home.publish(workflow('flow', drawn, asleep));
  const run = await home.begin('flow');
  for (const job of home.ports.jobs.takeSent()) await home.take(job);
  return run;
}

describe('waking a run', () => {
  it('ends every sleep at once, and the run completes', async () => {
    const home = createTestEnv();
    const run = await sleeping(home);
    const now = home.ports.clock.now();
    expect(await wakeRun(home.worker, run)).toEqual({ kind: 'woken', nodeIds: ['z1', 'z2'] });
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    expect((await home.fold(run)).state.progress).toMatchObject({ status: 'completed', endedAt: now });
    expect(home.attempts).toEqual(['a#1', 'b#1']);
  });

  it('by node id ends only those sleeps, and skips nodes that do not sleep', async () => {
    const home = createTestEnv();
    const run = await sleeping(home);
    expect(await wakeRun(home.worker, run, [nodeId('z2'), nodeId('a'), nodeId('nowhere')])).toEqual({
      kind: 'woken',
      nodeIds: ['z2'],
    });
    const { state } = await home.fold(run);
    expect([...state.open.keys()]).toEqual(['z1']);
  });

  it('repeated by node id, or without a sleeping node, changes nothing', async () => {
    const home = createTestEnv();
    const run = await sleeping(home);
    await wakeRun(home.worker, run, [nodeId('z2')]);
    const { asOf } = (await home.fold(run)).state;
    const before = home.ports.jobs.delayed.length;
    expect(await wakeRun(home.worker, run, [nodeId('z2')])).toEqual({ kind: 'woken', nodeIds: [] });
    expect((await home.fold(run)).state.asOf).toBe(asOf);
    expect(home.ports.jobs.delayed.length).toBe(before);
  });

  it('leaves timers that change nothing when they fire', async () => {
    const home = createTestEnv();
    const run = await sleeping(home);
    await wakeRun(home.worker, run);
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const { asOf } = (await home.fold(run)).state;
    await home.settle();
    expect((await home.fold(run)).state.asOf).toBe(asOf);
    expect(home.attempts).toEqual(['a#1', 'b#1']);
  });

  it('of an ended run is refused with its status', async () => {
    const home = createTestEnv();
    const run = await sleeping(home);
    await cancelRun(home.worker, run);
    expect(await wakeRun(home.worker, run)).toEqual({ kind: 'run_terminal', status: 'cancelled' });
  });

  it('of a missing run is not found', async () => {
    const home = createTestEnv();
    expect(await wakeRun(home.worker, { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') })).toEqual({
      kind: 'not_found',
    });
  });

  it('that loses its put to a cancel returns the run’s status', async () => {
    let meanwhile: (() => Promise<unknown>) | undefined;
    const home = createTestEnv({
      wrap: (deps: Deps) => ({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: async (...given) => {
            const now = meanwhile;
            meanwhile = undefined;
            await now?.();
            return deps.index.markDue(...given);
          },
        }),
      }),
    });
    const run = await sleeping(home);
    meanwhile = () => cancelRun(home.worker, run);
    expect(await wakeRun(home.worker, run)).toEqual({ kind: 'run_terminal', status: 'cancelled' });
  });
});

describe('a wake that crashes after its commit', () => {
  const killed = async () => {
    let isKilled = false;
    const home = createTestEnv({
      wrap: (deps: Deps) => ({
        ...deps,
        jobs: overrideMethods(deps.jobs, {
          send: async (jobs) => (isKilled ? Promise.reject(new Error('killed here')) : deps.jobs.send(jobs)),
        }),
      }),
    });
    const run = await sleeping(home);
    isKilled = true;
    await expect(wakeRun(home.worker, run)).rejects.toThrow('killed here');
    expect(home.ports.jobs.sent).toEqual([]);
    isKilled = false;
    return { home, run };
  };

  it('is completed by the recheck it sent first', async () => {
    const { home, run } = await killed();
    home.ports.clock.advance(seconds(150));
    const nudges = home.ports.jobs.takeDue().filter(({ kind }) => kind === 'recheck');
    expect(nudges).toHaveLength(1);
    for (const nudge of nudges) await home.take(nudge);
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });

  it('is checked by the sweep within minutes, for any length of the sleep', async () => {
    const { home, run } = await killed();
    const due = minuteOf(after(home.ports.clock.now(), minutes(2)));
    expect(await home.ports.index.dueIn(due)).toEqual([run]);
    home.ports.clock.advance(minutes(4));
    await sweepRuns(home.worker, after(home.ports.clock.now(), minutes(1)));
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  });
});
