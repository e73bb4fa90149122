import { describe, expect, it } from 'vitest';
import { hours, minutes } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { sweepRun } from '../../../lib/service/execution/sweep-runs.ts';
import { type TestEnv, createTestEnv, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';
import { definitionOf, startTestRun } from '../test-run-fixture.ts';

const listening = (options: Parameters<typeof createTestEnv>[0] = {}): TestEnv => {
  const home = createTestEnv(options);
  home.ports.notices.notifiesStarts = true;
  return home;
};
const told = (home: TestEnv) => home.ports.notices.statusNotices.map(({ status }) => status);
const takeSent = async (home: TestEnv): Promise<void> => {
  for (const job of home.ports.jobs.takeSent()) await home.take(job);
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
    expect(home.ports.notices.statusNotices[0]).toEqual({
      run,
      workflow: { name: 'flow', version: 1 },
      status: 'running',
      startedAt: head.createdAt,
    });
  });

  it('is told to nobody who did not ask for it', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await home.begin('flow');
    await takeSent(home);
    home.ports.clock.advance(minutes(3));
    await sweepRun(home.worker, run);
    expect(told(home)).toEqual([]);
  });

  it('is told by the sweep where its worker died before it could, and by no later sweep', async () => {
    let isDead = true;
    const home = listening({
      wrap: (deps) => ({
        ...deps,
        notices: overrideMethods(deps.notices, {
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
      home.ports.clock.advance(hours(1));
      await sweepRun(home.worker, run);
    }
    expect(told(home)).toEqual(['running']);
    expect((await home.ports.log.head(run))?.projection.status).toBe('running');
  });

  it('goes on where the bus cannot be reached, and is told later', async () => {
    let isDown = true;
    const home = listening({
      wrap: (deps) => ({
        ...deps,
        notices: overrideMethods(deps.notices, {
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
    home.ports.clock.advance(minutes(3));
    await expect(sweepRun(home.worker, run)).rejects.toThrow(Unavailable);
    isDown = false;
    await sweepRun(home.worker, run);
    expect(told(home)).toEqual(['running']);
  });

  it('as a test is told by nobody', async () => {
    const home = listening();
    const run = await startTestRun(home, definitionOf('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    await takeSent(home);
    home.ports.clock.advance(minutes(3));
    await sweepRun(home.worker, run);
    expect((await home.fold(run)).state.progress.status).toBe('running');
    expect(told(home)).toEqual([]);
  });
});
