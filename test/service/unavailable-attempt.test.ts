/** An attempt that could not read what it needs, before it asked anybody for anything: the message comes back, and nothing is decided. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import type { LostDelivery } from '../../lib/engine/log/deliveries.ts';
import { minutes } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { failLostNode } from '../../lib/service/fail-lost-node.ts';
import type { RunAttempt } from '../../lib/service/graph.ts';
import { patiently } from '../../lib/service/patiently.ts';
import type { Worker } from '../../lib/service/run-node.ts';
import { type House, finished, house, workflow } from './house.ts';
import { replaced } from './replaced.ts';

const keyOf = (node: string) => nodeKey({ nodeId: nodeId(node), iteration: topLevel });

test('is no failure of its node, and the next delivery finds it as it was', async () => {
  const home = house();
  await home.publish(workflow('flow', 'a>b'));
  const run = await home.begin('flow');
  let isDown = true;
  const asked: unknown[] = [];
  const runAttempt: RunAttempt = async (_node, _input, { scope, number, token }) => {
    asked.push({ scope, number, token });
    if (isDown) throw new Unavailable('the secrets');
    return { outcome: finished('x'), printed: [] };
  };
  const [job] = home.world.jobs.takeSent();
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
  async function deliverThrough(home: House, job: Job, worker: Worker): Promise<void> {
    for (let delivery = 1; delivery <= 9; delivery += 1) {
      await expect(home.take(job, { isRedelivered: delivery > 1, worker })).rejects.toThrow(Unavailable);
      if (delivery % 5 === 0) await patiently(home.deps.clock, () => failLostNode(home.worker, job));
      home.world.clock.advance(minutes(20));
    }
  }

  async function lossesOf(home: House, run: RunAddress, node: string): Promise<readonly LostDelivery[]> {
    const sign = (await home.world.log.beats(run)).find((each) => each.node === keyOf(node));
    return sign?.deliveries?.lost ?? [];
  }

  /** The first delivery records nothing, so it alone may have been a death. */
  async function goesOnAfterOneLoss(home: House, run: RunAddress, job: Job, node: string): Promise<void> {
    expect(await lossesOf(home, run, node)).toHaveLength(1);
    await home.take(job, { isRedelivered: true });
    await home.settle();
    expect((await home.fold(run)).state.progress.status).toBe('completed');
  }

  test.each([0, 2])('an attempt, where the record that it was given up is refused %i times as well', async (refused) => {
    let left = 0;
    const home = house({
      wrap: (deps) => ({
        ...deps,
        clock: replaced(deps.clock, { sleep: () => Promise.resolve() }),
        log: replaced(deps.log, {
          beat: async (run, beat, expiresAt) => {
            if (beat.deliveries?.isReleased === true && (left += 1) % (refused + 1) !== 0)
              throw new Unavailable('the runs table');
            await deps.log.beat(run, beat, expiresAt);
          },
        }),
      }),
    });
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.world.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const runAttempt: RunAttempt = () => Promise.reject(new Unavailable('the secrets'));
    await deliverThrough(home, job, { ...home.worker, runAttempt });
    await goesOnAfterOneLoss(home, run, job, 'a');
    expect(home.attempts).toEqual(['a#1', 'b#1']);
  });

  test('what it needs before it begins to work', async () => {
    const home = house();
    await home.publish(workflow('flow', 'a>b'));
    const run = await home.begin('flow');
    const [job] = home.world.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const plans = replaced(home.worker.plans, { of: () => Promise.reject(new Unavailable('the workflows table')) });
    await deliverThrough(home, job, { ...home.worker, plans });
    await goesOnAfterOneLoss(home, run, job, 'a');
  });

  test('a wake', async () => {
    const home = house();
    await home.publish(workflow('flow', 'a>z z>b', { z: { ms: minutes(10) } }));
    const run = await home.begin('flow');
    for (const each of home.world.jobs.takeSent()) await home.take(each);
    const job = home.world.jobs.delayed.map((each) => each.job).find(({ kind }) => kind === 'wake');
    if (job === undefined) throw new Error('no wake was set');
    home.world.clock.advance(minutes(10));
    const plans = replaced(home.worker.plans, { of: () => Promise.reject(new Unavailable('the workflows table')) });
    await deliverThrough(home, job, { ...home.worker, plans });
    await goesOnAfterOneLoss(home, run, job, 'z');
  });

  test('a result that nobody can collect: who sent it lives', async () => {
    const home = house();
    await home.publish(workflow('flow', Array.from({ length: 12 }, (_, index) => `a>b${index} b${index}>d`).join(' ')));
    const run = await home.begin('flow');
    for (const job of home.world.jobs.takeSent()) await home.take(job);
    const [job] = home.world.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    for (let delivery = 1; delivery <= 6; delivery += 1) {
      await home.take(job, { isRedelivered: delivery > 1 });
      home.world.clock.advance(minutes(20));
    }
    expect(home.world.jobs.results).toHaveLength(6);
    expect(await lossesOf(home, run, job.nodeId)).toHaveLength(1);
  });
});
