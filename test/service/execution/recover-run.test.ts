/** Looks at a run: what they send comes back as looks, so that each thing is asked after by one of them. */
import { describe, expect, it } from 'vitest';
import type { RunAddress } from '../../../lib/engine/ids.ts';
import { durationMs, seconds } from '../../../lib/engine/time.ts';
import type { Job } from '../../../lib/ports/jobs.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { recoverAndRecheck } from '../../../lib/service/execution/recheck-run.ts';
import { sendSignal } from '../../../lib/service/runs/send-signal.ts';
import { type TestEnv, manyChildRunsWorkflow, createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

/** A run that waits for ten others, whose making was asked for and is taken from the queue. */
async function withCalls(options: Parameters<typeof createTestEnv>[0] = {}): Promise<readonly [TestEnv, RunAddress]> {
  const home = createTestEnv(options);
  await home.publish(manyChildRunsWorkflow());
  const run = await home.begin('crowd');
  for (const job of home.ports.jobs.takeSent()) await home.take(job);
  home.ports.jobs.takeDue();
  return [home, run];
}

/** What a look at the run leaves for later, of that kind. */
async function left(home: TestEnv, run: RunAddress, kind: Job['kind']): Promise<number> {
  const before = new Set(home.ports.jobs.delayed);
  await recoverAndRecheck(home.worker, await home.fold(run));
  return home.ports.jobs.delayed.filter((each) => !before.has(each) && each.job.kind === kind).length;
}

describe('a look at a run that waits for many', () => {
  it('asks after each call, and the next one does not before 100 s are over', async () => {
    const [home, run] = await withCalls();
    expect(await left(home, run, 'child')).toBe(10);
    home.ports.clock.advance(durationMs(99_999));
    expect(await left(home, run, 'child')).toBe(0);
    home.ports.clock.advance(durationMs(1));
    expect(await left(home, run, 'child')).toBe(10);
  });

  it('goes on where one has died on its way through them', async () => {
    let refused = Infinity;
    const [home, run] = await withCalls({
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
    await expect(left(home, run, 'child')).rejects.toThrow('the queue');
    refused = Infinity;
    expect(await left(home, run, 'child')).toBe(3);
  });

  it('sets the alarm of a sleeper again, once for all looks of 100 s', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 600_000 } }));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    expect(await left(home, run, 'wake')).toBe(1);
    expect(await left(home, run, 'wake')).toBe(0);
    home.ports.clock.advance(seconds(100));
    expect(await left(home, run, 'wake')).toBe(1);
  });
});

describe('a look at a run with a young node', () => {
  it('leaves one more, and nobody else does for 50 s: what is young by then is old enough when that one comes', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    expect(await left(home, run, 'recheck')).toBe(1);
    home.ports.clock.advance(durationMs(49_999));
    expect(await left(home, run, 'recheck')).toBe(0);
    home.ports.clock.advance(durationMs(1));
    expect(await left(home, run, 'recheck')).toBe(1);
  });
});

describe('a look at a run with a wait for a signal whose time is over', () => {
  const place = { name: 'paid', correlation: 'order-7' };

  it.each([
    ['that its wake will end any moment', 0],
    ['whose wake has not come', 60],
    ['whose second wake has not come', 170],
  ])('gives it what lay there in time, to a wait %s', async (_which, overdueSeconds) => {
    let isReached = true;
    const home = createTestEnv({
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
    await home.publish(workflow('flow', 's>b', { s: { ...place, expiresInSeconds: 30, onExpiry: 'fail' } }));
    await sendSignal(home.worker, scope, { ...place, payload: 'in time', bodyHash: 'one' });
    isReached = false;
    const run = await home.begin('flow');
    isReached = true;
    home.ports.clock.advance(seconds(30 + overdueSeconds));
    if (overdueSeconds > 100) await left(home, run, 'wake');
    await left(home, run, 'wake');
    const commits = await home.ports.log.commitsAfter(run, (await home.fold(run)).head.commit.number);
    expect(commits.flatMap(({ events }) => events)).toContainEqual(expect.objectContaining({ type: 'SIGNAL_RECEIVED' }));
  });
});
