/** The hop counts of the product's message chains are far below the limit, so the limiter delays none of them. */
import { expect, test } from 'vitest';
import { type RunAddress, workflowName } from '../../lib/engine/ids.ts';
import { type Instant, hours } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import { byRun } from '../../lib/service/execution/collect-results.ts';
import { HopLimiter } from '../../lib/service/execution/hop-limiter.ts';
import { hops, maxHops } from '../../lib/engine/hops.ts';
import { type TestEnv, manyChildRunsWorkflow, createTestEnv, scope, workflow } from './test-env.ts';

interface Limited {
  readonly env: TestEnv;
  /** Processes messages until none remains, and advances the clock to the next delayed one. @returns the highest hop count */
  readonly settle: (order?: (jobs: readonly Job[]) => readonly Job[]) => Promise<number>;
  readonly slowed: () => number;
}

function limited(): Limited {
  let slowed = 0;
  let limiter: HopLimiter | undefined;
  const env = createTestEnv({
    wrap: (deps) => {
      limiter = new HopLimiter(deps.clock, () => (slowed += 1));
      return { ...deps, jobs: limiter.jobs(deps.jobs), log: limiter.log(deps.log) };
    },
  });
  const { jobs, clock, timers } = env.ports;
  return {
    env,
    slowed: () => slowed,
    async settle(order = (all) => all) {
      let most = 0;
      for (;;) {
        const due = order([...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue()]);
        for (const job of due) {
          const count = jobs.hopsOf(job);
          most = Math.max(most, count);
          await limiter?.handle(count, () => env.take(job));
        }
        const results = jobs.takeResults();
        const count = Math.max(0, ...results.map((result) => jobs.hopsOf(result)));
        most = Math.max(most, count);
        if (results.length > 0)
          await limiter?.handle(hops(count), () =>
            env.collect(byRun(results.map((result) => ({ result, isRedelivered: false })))),
          );
        if (due.length + results.length > 0) continue;
        const next = Math.min(...jobs.delayed.map(({ dueAt }) => dueAt), ...timers.pending().map(({ at }) => at));
        if (!Number.isFinite(next)) return most;
        clock.set(next as Instant);
        for (const { job } of timers.takeDue()) await limiter?.handle(hops(0), () => env.take(job));
      }
    },
  };
}

/** A hundred runs of a workflow with one slot: one runs, 99 wait, and all are cancelled at once. */
async function cancelledTogether({ env }: Limited): Promise<void> {
  await env.publish({ ...workflow('flow', 'a>z z>b', { z: { ms: hours(1) } }), options: { maxConcurrentRuns: 1 } });
  const runs: RunAddress[] = [];
  for (let index = 0; index < 100; index += 1) {
    const answer = await env.start({ workflowName: workflowName('flow'), idempotencyKey: `k${index}` });
    if (answer.kind === 'started') runs.push({ ...scope, runId: answer.runId });
  }
  for (let jobs = env.ports.jobs.takeDue(); jobs.length > 0; jobs = env.ports.jobs.takeDue())
    for (const job of jobs) await env.take(job);
  expect(await env.ports.concurrencySlots.waiting(slots, 100)).toHaveLength(99);
  for (const run of runs) await cancelRun(env.worker, run);
}
const slots = { ...scope, workflowName: workflowName('flow') };

test('a hundred runs of one slot, cancelled together', async () => {
  const limitedEnv = limited();
  await cancelledTogether(limitedEnv);
  expect([await limitedEnv.settle(), limitedEnv.slowed()]).toEqual([1, 0]);
});

test('if all their messages but one are lost, each run wakes the next: delayed beyond the limit, and none is lost', async () => {
  const limitedEnv = limited();
  await cancelledTogether(limitedEnv);
  let isFirst = true;
  const most = await limitedEnv.settle((jobs) => {
    if (!isFirst) return jobs;
    isFirst = false;
    return jobs.filter(({ kind }) => kind === 'slot').slice(0, 1);
  });
  expect(most).toBeGreaterThan(maxHops);
  expect(limitedEnv.slowed()).toBeGreaterThan(0);
  expect(await limitedEnv.env.ports.concurrencySlots.waiting(slots, 100)).toEqual([]);
});

test('sixty runs in one slot, one after the other', async () => {
  const { env, settle, slowed } = limited();
  await env.publish({ ...workflow('flow', 'a>b'), options: { maxConcurrentRuns: 1 } });
  for (let index = 0; index < 60; index += 1)
    await env.start({ workflowName: workflowName('flow'), idempotencyKey: `k${index}` });
  expect([await settle(), slowed()]).toEqual([1, 0]);
  expect(env.attempts).toHaveLength(120);
});

test('ten child runs whose ends are collected', async () => {
  const { env, settle, slowed } = limited();
  await env.publish(manyChildRunsWorkflow());
  await env.publish(workflow('child', 'a>b'));
  const run = await env.begin('crowd');
  expect([await settle(), slowed()]).toEqual([1, 0]);
  expect((await env.fold(run)).state.progress.status).toBe('completed');
});

test('thirty sleeps, one after the other', async () => {
  const { env, settle, slowed } = limited();
  const naps = Array.from({ length: 30 }, (_, index) => `z${index}`);
  const edges = naps.slice(1).map((nap, index) => `${naps[index]}>${nap}`);
  await env.publish(workflow('flow', edges.join(' '), Object.fromEntries(naps.map((nap) => [nap, { ms: 20 }]))));
  const run = await env.begin('flow');
  expect([await settle(), slowed()]).toEqual([0, 0]);
  expect((await env.fold(run)).state.progress.status).toBe('completed');
});
