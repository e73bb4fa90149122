/** Recovery of a run: its messages cause further checks, so each wait is rechecked by only one of them. */
import { describe, expect, it } from 'vitest';
import type { RunAddress } from '../../../lib/engine/ids.ts';
import { durationMs, seconds } from '../../../lib/engine/time.ts';
import type { Job } from '../../../lib/ports/jobs.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { recoverAndRecheck } from '../../../lib/service/execution/recheck-run.ts';
import { sendSignal } from '../../../lib/service/runs/send-signal.ts';
import { type TestEnv, manyChildRunsWorkflow, createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

/** A run that waits for ten child runs. The jobs that start them are taken from the queue. */
async function withCalls(options: Parameters<typeof createTestEnv>[0] = {}): Promise<readonly [TestEnv, RunAddress]> {
  const env = createTestEnv(options);
  await env.publish(manyChildRunsWorkflow());
  const run = await env.begin('crowd');
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
  env.ports.jobs.takeDue();
  return [env, run];
}

/** The delayed jobs of this kind that a recovery sends. */
async function left(env: TestEnv, run: RunAddress, kind: Job['kind']): Promise<number> {
  const before = new Set(env.ports.jobs.delayed);
  await recoverAndRecheck(env.worker, await env.fold(run));
  return env.ports.jobs.delayed.filter((each) => !before.has(each) && each.job.kind === kind).length;
}

describe('recovery of a run with many waits', () => {
  it('rechecks each child run, and the next recovery does not within 100 s', async () => {
    const [env, run] = await withCalls();
    expect(await left(env, run, 'child')).toBe(10);
    env.ports.clock.advance(durationMs(99_999));
    expect(await left(env, run, 'child')).toBe(0);
    env.ports.clock.advance(durationMs(1));
    expect(await left(env, run, 'child')).toBe(10);
  });

  it('continues where a crashed recovery stopped', async () => {
    let refused = Infinity;
    const [env, run] = await withCalls({
      wrap: (deps) => ({
        ...deps,
        jobs: overrideMethods(deps.jobs, {
          sendDelayed: async (job, wait) => {
            if ((refused -= 1) < 0) throw new Unavailable('the queue');
            return deps.jobs.sendDelayed(job, wait);
          },
        }),
      }),
    });
    refused = 7;
    await expect(left(env, run, 'child')).rejects.toThrow('the queue');
    refused = Infinity;
    expect(await left(env, run, 'child')).toBe(3);
  });

  it('sends the wake-up of a sleeping node again, once within 100 s', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 600_000 } }));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    expect(await left(env, run, 'wake')).toBe(1);
    expect(await left(env, run, 'wake')).toBe(0);
    env.ports.clock.advance(seconds(100));
    expect(await left(env, run, 'wake')).toBe(1);
  });
});

describe('recovery of a run with a node within its heartbeat timeout', () => {
  it('sends one recheck, and no further recovery does for 50 s', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    expect(await left(env, run, 'recheck')).toBe(1);
    env.ports.clock.advance(durationMs(49_999));
    expect(await left(env, run, 'recheck')).toBe(0);
    env.ports.clock.advance(durationMs(1));
    expect(await left(env, run, 'recheck')).toBe(1);
  });
});

describe('recovery of a run with a signal wait past its time', () => {
  const place = { name: 'paid', correlation: 'order-7' };

  it.each([
    ['that its wake will end any moment', 0],
    ['whose wake has not come', 60],
    ['whose second wake has not come', 170],
  ])('delivers a signal that arrived in time, to a wait %s', async (_which, overdueSeconds) => {
    let isReached = true;
    const env = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        signals: overrideMethods(deps.signals, {
          addWaiter: async (...wait) => {
            if (!isReached) throw new Unavailable('the store of signals');
            return deps.signals.addWaiter(...wait);
          },
        }),
      }),
    });
    await env.publish(workflow('flow', 's>b', { s: { ...place, expiresInSeconds: 30, onExpiry: 'fail' } }));
    await sendSignal(env.worker, scope, { ...place, payload: 'in time', bodyHash: 'one' });
    isReached = false;
    const run = await env.begin('flow');
    isReached = true;
    env.ports.clock.advance(seconds(30 + overdueSeconds));
    if (overdueSeconds > 100) await left(env, run, 'wake');
    await left(env, run, 'wake');
    const commits = await env.ports.log.commitsAfter(run, (await env.fold(run)).head.commit.number);
    expect(commits.flatMap(({ events }) => events)).toContainEqual(expect.objectContaining({ type: 'SIGNAL_RECEIVED' }));
  });
});
