import { describe, expect, it } from 'vitest';
import { hours, minutes } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { recoverRun } from '../../lib/service/recover-runs.ts';
import { type House, house, workflow } from './house.ts';
import { replaced } from './replaced.ts';
import { drawn, tested } from './tried.ts';

const listening = (options: Parameters<typeof house>[0] = {}): House => {
  const home = house(options);
  home.world.notices.tellsStarts = true;
  return home;
};
const told = (home: House) => home.world.notices.told.map(({ status }) => status);
const takeSent = async (home: House): Promise<void> => {
  for (const job of home.world.jobs.takeSent()) await home.take(job);
};

describe('a run that has begun', () => {
  it('is told once, by its first worker and not by the request, and then its end', async () => {
    const home = listening();
    await home.publish(workflow('flow', 'a>b b>c'));
    const run = await home.begin('flow');
    expect(told(home)).toEqual([]);
    await home.settle();
    expect(told(home)).toEqual(['running', 'completed']);
    const { head } = await home.fold(run);
    expect(home.world.notices.told[0]).toEqual({
      run,
      workflow: { name: 'flow', version: 1 },
      status: 'running',
      startedAt: head.createdAt,
    });
  });

  it('is told to nobody who did not ask for it', async () => {
    const home = house();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    await takeSent(home);
    home.world.clock.advance(minutes(3));
    await recoverRun(home.worker, run);
    expect(told(home)).toEqual([]);
  });

  it('is told by the sweep where its worker died before it could, and by no later sweep', async () => {
    let isDead = true;
    const home = listening({
      wrap: (deps) => ({
        ...deps,
        notices: replaced(deps.notices, {
          runStatusChanged: async (notice) => {
            if (isDead) throw new Error('killed here');
            return deps.notices.runStatusChanged(notice);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 36_000_000 } }));
    const run = await home.begin('flow');
    await expect(takeSent(home)).rejects.toThrow('killed here');
    isDead = false;
    for (let sweep = 0; sweep < 3; sweep += 1) {
      home.world.clock.advance(hours(1));
      await recoverRun(home.worker, run);
    }
    expect(told(home)).toEqual(['running']);
    expect((await home.world.log.head(run))?.projection.status).toBe('running');
  });

  it('goes on where the bus cannot be reached, and is told later', async () => {
    let isDown = true;
    const home = listening({
      wrap: (deps) => ({
        ...deps,
        notices: replaced(deps.notices, {
          runStatusChanged: async (notice) => {
            if (isDown) throw new Unavailable('the event bus');
            return deps.notices.runStatusChanged(notice);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    await takeSent(home);
    expect((await home.fold(run)).state.progress.status).toBe('running');
    home.world.clock.advance(minutes(3));
    await expect(recoverRun(home.worker, run)).rejects.toThrow(Unavailable);
    isDown = false;
    await recoverRun(home.worker, run);
    expect(told(home)).toEqual(['running']);
  });

  it('as a test is told by nobody', async () => {
    const home = listening();
    const run = await tested(home, drawn('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    await takeSent(home);
    home.world.clock.advance(minutes(3));
    await recoverRun(home.worker, run);
    expect((await home.fold(run)).state.progress.status).toBe('running');
    expect(told(home)).toEqual([]);
  });
});
