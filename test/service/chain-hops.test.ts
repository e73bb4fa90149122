/** The hops that chains of the product come to: far below the limit, so that the limit slows none of them. */
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
  readonly home: TestEnv;
  /** Takes messages until none is left, and moves the clock to the next delayed one. @returns the most hops that one came with */
  readonly settle: (order?: (jobs: readonly Job[]) => readonly Job[]) => Promise<number>;
  readonly slowed: () => number;
}

function limited(): Limited {
  let slowed = 0;
  let limiter: HopLimiter | undefined;
  const home = createTestEnv({
    wrap: (deps) => {
      limiter = new HopLimiter(deps.clock, () => (slowed += 1));
      return { ...deps, jobs: limiter.jobs(deps.jobs), log: limiter.log(deps.log) };
    },
  });
  const { jobs, clock, timers } = home.ports;
  return {
    home,
    slowed: () => slowed,
    async settle(order = (all) => all) {
      let most = 0;
      for (;;) {
        const due = order([...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue()]);
        for (const job of due) {
          const count = jobs.hopsOf(job);
          most = Math.max(most, count);
          await limiter?.handle(count, () => home.take(job));
        }
        const results = jobs.takeResults();
        const count = Math.max(0, ...results.map((result) => jobs.hopsOf(result)));
        most = Math.max(most, count);
        if (results.length > 0)
          await limiter?.handle(hops(count), () =>
            home.collect(byRun(results.map((result) => ({ result, isRedelivered: false })))),
          );
        if (due.length + results.length > 0) continue;
        const next = Math.min(...jobs.delayed.map(({ dueAt }) => dueAt), ...timers.pending().map(({ at }) => at));
        if (!Number.isFinite(next)) return most;
        clock.set(next as Instant);
        for (const { job } of timers.takeDue()) await limiter?.handle(hops(0), () => home.take(job));
      }
    },
  };
}

/** A hundred runs of one slot, one at work and 99 that wait, all cancelled at once. */
async function cancelledTogether({ home }: Limited): Promise<void> {
  await home.publish({ ...workflow('flow', 'a>z z>b', { z: { ms: hours(1) } }), options: { maxConcurrentRuns: 1 } });
  const runs: RunAddress[] = [];
  for (let index = 0; index < 100; index += 1) {
    const answer = await home.start({ workflowName: workflowName('flow'), idempotencyKey: `k${index}` });
    if (answer.kind === 'started') runs.push({ ...scope, runId: answer.runId });
  }
  for (let jobs = home.ports.jobs.takeDue(); jobs.length > 0; jobs = home.ports.jobs.takeDue())
    for (const job of jobs) await home.take(job);
  expect(await home.ports.concurrencySlots.waiting(slots, 100)).toHaveLength(99);
  for (const run of runs) await cancelRun(home.worker, run);
}
const slots = { ...scope, workflowName: workflowName('flow') };

test('a hundred runs of one slot that are cancelled together', async () => {
  const world = limited();
  await cancelledTogether(world);
  expect([await world.settle(), world.slowed()]).toEqual([1, 0]);
});

test('where all their messages but one are lost, each calls the next: slowed beyond the limit, and none is forgotten', async () => {
  const world = limited();
  await cancelledTogether(world);
  let isFirst = true;
  const most = await world.settle((jobs) => {
    if (!isFirst) return jobs;
    isFirst = false;
    return jobs.filter(({ kind }) => kind === 'slot').slice(0, 1);
  });
  expect(most).toBeGreaterThan(maxHops);
  expect(world.slowed()).toBeGreaterThan(0);
  expect(await world.home.ports.concurrencySlots.waiting(slots, 100)).toEqual([]);
});

test('sixty runs in one slot, one after the other', async () => {
  const { home, settle, slowed } = limited();
  await home.publish({ ...workflow('flow', 'a>b'), options: { maxConcurrentRuns: 1 } });
  for (let index = 0; index < 60; index += 1)
    await home.start({ workflowName: workflowName('flow'), idempotencyKey: `k${index}` });
  expect([await settle(), slowed()]).toEqual([1, 0]);
  expect(home.attempts).toHaveLength(120);
});

test('ten calls of runs whose ends are collected', async () => {
  const { home, settle, slowed } = limited();
  await home.publish(manyChildRunsWorkflow());
  await home.publish(workflow('child', 'a>b'));
  const run = await home.begin('crowd');
  expect([await settle(), slowed()]).toEqual([1, 0]);
  expect((await home.fold(run)).state.progress.status).toBe('completed');
});

test('thirty sleeps, one after the other', async () => {
  const { home, settle, slowed } = limited();
  const naps = Array.from({ length: 30 }, (_, index) => `z${index}`);
  const edges = naps.slice(1).map((nap, index) => `${naps[index]}>${nap}`);
  await home.publish(workflow('flow', edges.join(' '), Object.fromEntries(naps.map((nap) => [nap, { ms: 20 }]))));
  const run = await home.begin('flow');
  expect([await settle(), slowed()]).toEqual([0, 0]);
  expect((await home.fold(run)).state.progress.status).toBe('completed');
});
