/** An attempt that cannot read its data, before it has any effect: its message is redelivered, and nothing is decided. */
import { describe, expect, test } from 'vitest';
import { type RunAddress, nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import type { LostDelivery } from '../../lib/engine/log/deliveries.ts';
import { minutes } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { retryUnavailable } from '../../lib/service/run-log/retry-unavailable.ts';
import { type TestEnv, finished, createTestEnv, workflow } from './test-env.ts';
import { overrideMethods } from './override-methods.ts';
import type { JobHandler } from '../../lib/service/worker.ts';

const keyOf = (node: string) => nodeKey({ nodeId: nodeId(node), iteration: topLevel });

test('an unavailable store is no failure of the node, and the next delivery finds it unchanged', async () => {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>b'));
  const run = await env.begin('flow');
  let isDown = true;
  const asked: unknown[] = [];
  const runAttempt: RunAttempt = async (_node, _input, { scope, number, token }) => {
    asked.push({ scope, number, token });
    if (isDown) throw new Unavailable('the secrets');
    return { outcome: finished('x'), printed: [] };
  };
  const [job] = env.ports.jobs.takeSent();
  if (job === undefined) throw new Error('no job was sent');
  const before = (await env.fold(run)).state.asOf;
  await expect(env.take(job, { worker: { ...env.worker, runAttempt } })).rejects.toThrow(Unavailable);
  expect((await env.fold(run)).state.asOf).toBe(before);

  isDown = false;
  await env.take(job, { isRedelivered: true, worker: { ...env.worker, runAttempt } });
  expect((await env.fold(run)).state.progress.status).toBe('completed');
  const { projectId, environment, runId } = run;
  const first = { scope: { projectId, environment }, number: 1, token: `${runId}/a` };
  expect(asked).toEqual([first, first, { ...first, token: `${runId}/b` }]);
});

describe('an outage of hours in which deliveries start and then find a store unavailable fails nothing', () => {
  /** Nine deliveries at intervals of twenty minutes, with a dead letter after every five. */
  async function deliverThrough(env: TestEnv, job: Job, worker: JobHandler): Promise<void> {
    for (let delivery = 1; delivery <= 9; delivery += 1) {
      await expect(env.take(job, { isRedelivered: delivery > 1, worker })).rejects.toThrow(Unavailable);
      if (delivery % 5 === 0) await retryUnavailable(env.deps.clock, () => handleDeadLetter(env.worker, job));
      env.ports.clock.advance(minutes(20));
    }
  }

  async function lossesOf(env: TestEnv, run: RunAddress, node: string): Promise<readonly LostDelivery[]> {
    const sign = (await env.ports.log.heartbeats(run)).find((each) => each.node === keyOf(node));
    return sign?.deliveries?.lost ?? [];
  }

  /** The first delivery records nothing, so only it may count as a crash. */
  async function goesOnAfterOneLoss(env: TestEnv, run: RunAddress, job: Job, node: string): Promise<void> {
    expect(await lossesOf(env, run, node)).toHaveLength(1);
    await env.take(job, { isRedelivered: true });
    await env.settle();
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  }

  test.each([0, 2])('an attempt, if the record of its release fails %i times too', async (refused) => {
    let left = 0;
    const env = createTestEnv({
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
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const runAttempt: RunAttempt = () => Promise.reject(new Unavailable('the secrets'));
    await deliverThrough(env, job, { ...env.worker, runAttempt });
    await goesOnAfterOneLoss(env, run, job, 'a');
    expect(env.attempts).toEqual(['a#1', 'b#1']);
  });

  test('a read before the attempt starts', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>b'));
    const run = await env.begin('flow');
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    const plans = overrideMethods(env.worker.plans, { of: () => Promise.reject(new Unavailable('the workflows table')) });
    await deliverThrough(env, job, { ...env.worker, plans });
    await goesOnAfterOneLoss(env, run, job, 'a');
  });

  test('a wake-up', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>z z>b', { z: { ms: minutes(10) } }));
    const run = await env.begin('flow');
    for (const each of env.ports.jobs.takeSent()) await env.take(each);
    const job = env.ports.jobs.delayed.map((each) => each.job).find(({ kind }) => kind === 'wake');
    if (job === undefined) throw new Error('no wake was set');
    env.ports.clock.advance(minutes(10));
    const plans = overrideMethods(env.worker.plans, { of: () => Promise.reject(new Unavailable('the workflows table')) });
    await deliverThrough(env, job, { ...env.worker, plans });
    await goesOnAfterOneLoss(env, run, job, 'z');
  });

  test('a result that no collector can commit: its sender is alive', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', Array.from({ length: 12 }, (_, index) => `a>b${index} b${index}>d`).join(' ')));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job);
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    for (let delivery = 1; delivery <= 6; delivery += 1) {
      await env.take(job, { isRedelivered: delivery > 1 });
      env.ports.clock.advance(minutes(20));
    }
    expect(env.ports.jobs.results).toHaveLength(6);
    expect(await lossesOf(env, run, job.nodeId)).toHaveLength(1);
  });
});
