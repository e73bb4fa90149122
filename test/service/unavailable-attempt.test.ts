/** An attempt that could not read what it needs, before it asked anybody for anything: the message comes back, and nothing is decided. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import type { LostDelivery } from '../../lib/engine/log/deliveries.ts';
import { minutes } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { retryUnavailable } from '../../lib/service/run-log/retry-unavailable.ts';
import type { Worker } from '../../lib/service/execution/run-node.ts';
import { type TestEnv, finished, createTestEnv, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';

const keyOf = (node: string) => nodeKey({ nodeId: nodeId(node), iteration: topLevel });

test('is no failure of its node, and the next delivery finds it as it was', async () => {
  const home = createTestEnv();
  await home.publish(workflow('flow', 'a>b'));
  const run = await home.begin('flow');
  let isDown = true;
  const asked: unknown[] = [];
  const runAttempt: RunAttempt = async (_node, _input, { scope, number, token }) => {
    asked.push({ scope, number, token });
    if (isDown) throw new Unavailable('the secrets');
    return { outcome: finished('x'), printed: [] };
  };
  const [job] = home.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  const before = (await home.fold(run)).state.asOf;
  await expect(home.take(job, { worker: { ...home.worker, runAttempt } })).rejects.toThrow(Unavailable);
  expect((await home.fold(run)).state.asOf).toBe(before);

  isDown = false;
  await home.take(job, { isRedelivered: true, worker: { ...home.worker, runAttempt } });
  expect((await home.fold(run)).state.progress.status).toBe('completed');
  const { projectId, environment, runId } = run;
  const first = { scope: { projectId, environment }, number: 1, token: `${runId}/a` };
  expect(asked).toEqual([first, first, { ...first, token: `${runId}/b` }]);
});

describe('an outage of hours in which deliveries begin, and then find a store unavailable, ends nothing', () => {
  /** Nine deliveries, with a dead letter after each five, from a queue that gives the message again every twenty minutes. */
  async function deliverThrough(home: TestEnv, job: Job, worker: Worker): Promise<void> {
    for (let delivery = 1; delivery <= 9; delivery += 1) {
      await expect(home.take(job, { isRedelivered: delivery > 1, worker })).rejects.toThrow(Unavailable);
      if (delivery % 5 === 0) await retryUnavailable(home.deps.clock, () => handleDeadLetter(home.worker, job));
      home.ports.clock.advance(minutes(20));
    }
  }

  async function lossesOf(home: TestEnv, run: RunAddress, node: string): Promise<readonly LostDelivery[]> {
    const sign = (await home.ports.log.heartbeats(run)).find((each) => each.node === keyOf(node));
    return sign?.deliveries?.lost ?? [];
  }

  /** The first delivery records nothing, so it alone may have been a death. */
  async function goesOnAfterOneLoss(home: TestEnv, run: RunAddress, job: Job, node: string): Promise<void> {
    expect(await lossesOf(home, run, node)).toHaveLength(1);
    await home.take(job, { isRedelivered: true });
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  }

  test.each([0, 2])('an attempt, where the record that it was given up is refused %i times as well', async (refused) => {
    let left = 0;
    const home = createTestEnv({
      wrap: (deps) => ({
        ...deps,
        clock: overrideMethods(deps.clock, { sleep: () => Promise.resolve() }),
        log: overrideMethods(deps.log, {
          heartbeat: async (run, beat, expiresAt) => {
            if (beat.deliveries?.isReleased === true && (left += 1) % (refused + 1) !== 0)
              throw new Unavailable('the runs table');
            await deps.log.heartbeat(run, beat, expiresAt);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const runAttempt: RunAttempt = () => Promise.reject(new Unavailable('the secrets'));
    await deliverThrough(home, job, { ...home.worker, runAttempt });
    await goesOnAfterOneLoss(home, run, job, 'a');
    expect(home.attempts).toEqual(['a#1', 'b#1']);
  });

  test('what it needs before it begins to work', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const plans = overrideMethods(home.worker.plans, { of: () => Promise.reject(new Unavailable('the workflows table')) });
    await deliverThrough(home, job, { ...home.worker, plans });
    await goesOnAfterOneLoss(home, run, job, 'a');
  });

  test('a wake', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: minutes(10) } }));
    const run = await home.begin('flow');
    for (const each of home.ports.jobs.takeSent()) await home.take(each);
    const job = home.ports.jobs.delayed.map((each) => each.job).find(({ kind }) => kind === 'wake');
    if (job === undefined) throw new Error('no wake was set');
    home.ports.clock.advance(minutes(10));
    const plans = overrideMethods(home.worker.plans, { of: () => Promise.reject(new Unavailable('the workflows table')) });
    await deliverThrough(home, job, { ...home.worker, plans });
    await goesOnAfterOneLoss(home, run, job, 'z');
  });

  test('a result that nobody can collect: who sent it lives', async () => {
    const home = createTestEnv();
    await home.publish(workflow('flow', Array.from({ length: 12 }, (_, index) => `a>b${index} b${index}>d`).join(' ')));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job);
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    for (let delivery = 1; delivery <= 6; delivery += 1) {
      await home.take(job, { isRedelivered: delivery > 1 });
      home.ports.clock.advance(minutes(20));
    }
    expect(home.ports.jobs.results).toHaveLength(6);
    expect(await lossesOf(home, run, job.nodeId)).toHaveLength(1);
  });
});
