/** Looks at a run: what they send comes back as looks, so that each thing is asked after by one of them. */
import { describe, expect, it } from 'vitest';
import type { RunAddress } from '../../lib/engine/ids.ts';
import { durationMs, seconds } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { mendAndHandOn } from '../../lib/service/nudge-run.ts';
import { sendSignal } from '../../lib/service/send-signal.ts';
import { type House, crowdOfCalls, house, scope, workflow } from './house.ts';
import { replaced } from './replaced.ts';

/** A run that waits for ten others, whose making was asked for and is taken from the queue. */
async function withCalls(options: Parameters<typeof house>[0] = {}): Promise<readonly [House, RunAddress]> {
  const home = house(options);
  await home.publish(crowdOfCalls());
  const run = await home.begin('crowd');
  for (const job of home.world.jobs.takeSent()) await home.take(job);
  home.world.jobs.takeDue();
  return [home, run];
}

/** What a look at the run leaves for later, of that kind. */
async function left(home: House, run: RunAddress, kind: Job['kind']): Promise<number> {
  const before = new Set(home.world.jobs.delayed);
  await mendAndHandOn(home.worker, await home.fold(run));
  return home.world.jobs.delayed.filter((each) => !before.has(each) && each.job.kind === kind).length;
}

describe('a look at a run that waits for many', () => {
  it('asks after each call, and the next one does not before 100 s are over', async () => {
    const [home, run] = await withCalls();
    expect(await left(home, run, 'child')).toBe(10);
    home.world.clock.advance(durationMs(99_999));
    expect(await left(home, run, 'child')).toBe(0);
    home.world.clock.advance(durationMs(1));
    expect(await left(home, run, 'child')).toBe(10);
  });

  it('goes on where one has died on its way through them', async () => {
    let refused = Infinity;
    const [home, run] = await withCalls({
      wrap: (deps) => ({
        ...deps,
        jobs: replaced(deps.jobs, {
          sendLater: async (job, wait) => {
            if ((refused -= 1) < 0) throw new Unavailable('the queue');
            return deps.jobs.sendLater(job, wait);
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
    const home = house();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 600_000 } }));
    const run = await home.begin('flow');
    for (const job of home.world.jobs.takeSent()) await home.take(job);
    expect(await left(home, run, 'wake')).toBe(1);
    expect(await left(home, run, 'wake')).toBe(0);
    home.world.clock.advance(seconds(100));
    expect(await left(home, run, 'wake')).toBe(1);
  });
});

describe('a look at a run with a young node', () => {
  it('leaves one more, and nobody else does for 50 s: what is young by then is old enough when that one comes', async () => {
    const home = house();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    expect(await left(home, run, 'nudge')).toBe(1);
    home.world.clock.advance(durationMs(49_999));
    expect(await left(home, run, 'nudge')).toBe(0);
    home.world.clock.advance(durationMs(1));
    expect(await left(home, run, 'nudge')).toBe(1);
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
    const home = house({
      wrap: (deps) => ({
        ...deps,
        signals: replaced(deps.signals, {
          enter: async (...wait) => {
            if (!isReached) throw new Unavailable('the store of signals');
            return deps.signals.enter(...wait);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 's>b', { s: { ...place, expiresInSeconds: 30, onExpiry: 'fail' } }));
    await sendSignal(home.worker, scope, { ...place, payload: 'in time', bodyHash: 'one' });
    isReached = false;
    const run = await home.begin('flow');
    isReached = true;
    home.world.clock.advance(seconds(30 + overdueSeconds));
    if (overdueSeconds > 100) await left(home, run, 'wake');
    await left(home, run, 'wake');
    const commits = await home.world.log.commitsAfter(run, (await home.fold(run)).head.commit.number);
    expect(commits.flatMap(({ events }) => events)).toContainEqual(expect.objectContaining({ type: 'SIGNAL_RECEIVED' }));
  });
});
