import { describe, expect, it } from 'vitest';
import { replacing } from '../../../lib/base/lazy.ts';
import { hours, minutes } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { sweepRun } from '../../../lib/service/execution/sweep-runs.ts';
import { cancelRun } from '../../../lib/service/runs/cancel-run.ts';
import { type TestEnv, createTestEnv, failing, finished, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';
import { definitionOf, startTestRun } from '../test-run-fixture.ts';

const listening = (options: Parameters<typeof createTestEnv>[0] = {}): TestEnv => {
  const env = createTestEnv(options);
  env.ports.notices.runEvents = 'all';
  return env;
};
const told = (env: TestEnv) => env.ports.notices.statusNotices.map(({ status }) => status);
const takeSent = async (env: TestEnv): Promise<void> => {
  for (const job of env.ports.jobs.takeSent()) await env.take(job);
};

describe.each([
  ['none', []],
  ['failed', ['failed']],
  ['ended', ['completed', 'failed', 'cancelled']],
  ['all', ['running', 'completed', 'running', 'failed', 'running', 'cancelled']],
] as const)('with the setting runEvents: %s', (level, expected) => {
  it('the bus gets the runs that completed, failed and were cancelled as the setting says', async () => {
    const env = createTestEnv({ answer: (node) => (node === 'broken' ? failing('invalid') : finished(node)) });
    env.ports.notices.runEvents = level;
    await env.publish(workflow('good', 'a>b b>c'));
    await env.publish(workflow('bad', 'a>broken broken>c'));
    await env.publish(workflow('long', 'a>z z>b', { z: { ms: 36_000_000 } }));
    for (const name of ['good', 'bad']) {
      await env.begin(name);
      await env.settle();
    }
    const run = await env.begin('long');
    await takeSent(env);
    await cancelRun(env.worker, run);
    expect(told(env)).toEqual(expected);
    // The rest of the finalization does not depend on it.
    expect((await env.ports.log.head(run))?.projection.status).toBe('cancelled');
  });
});

describe('the start of a run', () => {
  it('is published once, by its first worker and not by the request, and then its end', async () => {
    const env = listening();
    await env.publish(workflow('flow', 'a>b b>c'));
    const run = await env.begin('flow');
    expect(told(env)).toEqual([]);
    await env.settle();
    expect(told(env)).toEqual(['running', 'completed']);
    const { head } = await env.fold(run);
    expect(env.ports.notices.statusNotices[0]).toEqual({
      run,
      workflow: { name: 'flow', version: 1 },
      status: 'running',
      startedAt: head.createdAt,
    });
  });

  it('is not published by the sweep either if the installation does not ask for it', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await env.begin('flow');
    await takeSent(env);
    env.ports.clock.advance(minutes(3));
    await sweepRun(env.worker, run);
    expect(told(env)).toEqual([]);
  });

  it('is published by the sweep if its worker crashed before it could, and by no later sweep', async () => {
    let isDead = true;
    const env = listening({
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
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 36_000_000 } }));
    const run = await env.begin('flow');
    await expect(takeSent(env)).rejects.toThrow('killed here');
    isDead = false;
    for (let sweep = 0; sweep < 3; sweep += 1) {
      env.ports.clock.advance(hours(1));
      await sweepRun(env.worker, run);
    }
    expect(told(env)).toEqual(['running']);
    expect((await env.ports.log.head(run))?.projection.status).toBe('running');
  });

  it('continues if the bus is unavailable, and is published later', async () => {
    let isDown = true;
    const env = listening({
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
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    const run = await env.begin('flow');
    await takeSent(env);
    expect((await env.fold(run)).state.progress.status).toBe('running');
    env.ports.clock.advance(minutes(3));
    await expect(sweepRun(env.worker, run)).rejects.toThrow(Unavailable);
    isDown = false;
    await sweepRun(env.worker, run);
    expect(told(env)).toEqual(['running']);
  });

  it('is not published for a test run', async () => {
    const env = listening();
    const run = await startTestRun(env, definitionOf('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    await takeSent(env);
    env.ports.clock.advance(minutes(3));
    await sweepRun(env.worker, run);
    expect((await env.fold(run)).state.progress.status).toBe('running');
    expect(told(env)).toEqual([]);
  });

  it('needs no bus for a test run: the function that stops test runs has none', async () => {
    const env = listening();
    const run = await startTestRun(env, definitionOf('flow', 'a>z z>b', { z: { ms: 7_200_000 } }));
    await takeSent(env);
    const absent = {
      get notices(): never {
        throw new Error('this function has no event bus');
      },
    };
    await cancelRun({ ...env.worker, deps: replacing(env.deps, absent) }, run);
    expect((await env.ports.log.head(run))?.projection.status).toBe('cancelled');
    expect(told(env)).toEqual([]);
  });
});
