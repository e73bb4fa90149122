/** Message chains on the memory ports: what counts as a hop, and how a chain without progress is delayed. */
import { beforeEach, describe, expect, test } from 'vitest';
import { type Hops, hops, maxHops, noHops } from '../../../lib/engine/hops.ts';
import { nodeId } from '../../../lib/engine/ids.ts';
import { type DurationMs, type Instant, after, between, durationMs, hours, minutes, seconds } from '../../../lib/engine/time.ts';
import { MemoryWatches } from '../../../lib/memory/sockets.ts';
import { type MemoryPorts, memoryPorts } from '../../../lib/memory/memory-ports.ts';
import type { Job, Jobs } from '../../../lib/ports/jobs.ts';
import type { RunLog } from '../../../lib/ports/run-log.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { HopLimiter, type SlowedMessage } from '../../../lib/service/execution/hop-limiter.ts';
import { recheckDelay } from '../../../lib/service/commit/schedule-message.ts';
import { recheckRun } from '../../../lib/service/execution/recheck-run.ts';
import { handleJob } from '../../../lib/service/execution/handle-job.ts';
import { workflowTaskJob, nodeJob, resultOf } from '../../contract/jobs.suite.ts';
import { creation, freshRun } from '../../contract/samples.ts';
import { createTestEnv, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

const noDelay = durationMs(0);
let ports: MemoryPorts;
let slowed: SlowedMessage[];
let limiter: HopLimiter;
let jobs: Jobs;
let log: RunLog;
beforeEach(() => limit(memoryPorts()));

function limit(newPorts: MemoryPorts): void {
  ports = newPorts;
  slowed = [];
  limiter = new HopLimiter(ports.clock, (message) => void slowed.push(message));
  jobs = limiter.jobs(ports.jobs);
  log = limiter.log(ports.log);
}

interface Taken {
  readonly job: Job;
  readonly hops: Hops;
  readonly at: Instant;
}

/** Delivers messages to the handler as its queue does, for the given time. Each invocation takes 10 ms. */
async function play(handler: (job: Job) => Promise<void>, time: DurationMs): Promise<readonly Taken[]> {
  const taken: Taken[] = [];
  const endsAt = after(ports.clock.now(), time);
  for (;;) {
    const due = [...ports.jobs.takeSent(), ...ports.jobs.takeMessages(), ...ports.jobs.takeDue()];
    if (due.length === 0) {
      const next = Math.min(...ports.jobs.delayed.map(({ dueAt }) => dueAt));
      if (next >= endsAt) return taken;
      ports.clock.advance(between(ports.clock.now(), next as Instant));
    }
    for (const job of due) {
      const count = ports.jobs.hopsOf(job);
      taken.push({ job, hops: count, at: ports.clock.now() });
      ports.clock.advance(durationMs(10));
      await limiter.handle(count, () => handler(job));
    }
    if (ports.clock.now() >= endsAt) return taken;
  }
}

const run = freshRun();
const recheck: Job = { kind: 'recheck', run };
const task = workflowTaskJob({ run });

describe('two handlers that send each other messages endlessly', () => {
  /** One answers a recheck with a workflow task, the other a workflow task with a recheck. */
  const pingPong = (job: Job): Promise<void> => (job.kind === 'recheck' ? jobs.send([task]) : jobs.sendDelayed(recheck, noDelay));

  test('are delayed until they send two messages in four minutes, and the delays are counted', async () => {
    await jobs.sendDelayed(recheck, noDelay);
    const taken = await play(pingPong, hours(6));
    expect(taken.length).toBeLessThan(240);
    const slowedAt = taken.filter(({ hops: count }) => count > maxHops && count % 2 === 1).map(({ at }) => at);
    const gaps = slowedAt.slice(1).map((at, index) => between(slowedAt[index] ?? at, at));
    expect(Math.max(...gaps)).toBeLessThan(minutes(5));
    expect(slowed.slice(0, 3)).toEqual([
      { runId: run.runId, kind: 'workflow_task', hops: 17, delay: seconds(1) },
      { runId: run.runId, kind: 'workflow_task', hops: 19, delay: seconds(2) },
      { runId: run.runId, kind: 'workflow_task', hops: 21, delay: seconds(4) },
    ]);
  });

  test('without the limiter send as fast as they can', async () => {
    jobs = ports.jobs;
    await jobs.sendDelayed(recheck, noDelay);
    expect((await play(pingPong, seconds(60))).length).toBeGreaterThan(1_000);
    expect(slowed).toEqual([]);
  });

  test('lose no message: the chain completes when the handlers stop', async () => {
    let left = 40;
    await jobs.sendDelayed(recheck, noDelay);
    const taken = await play((job) => (left-- > 0 ? pingPong(job) : Promise.resolve()), hours(24));
    expect(taken).toHaveLength(41);
    expect(ports.jobs.delayed).toEqual([]);
  });
});

test('a planted bug, a recheck without its delay while a node runs, is delayed', async () => {
  const env = createTestEnv();
  limit(env.ports);
  await env.publish(workflow('flow', 'a>b'));
  const address = await env.begin('flow');
  env.ports.jobs.takeSent();
  const worker = (hasBug: boolean) => ({
    ...env.worker,
    deps: {
      ...env.deps,
      jobs: overrideMethods(jobs, { sendDelayed: (job, wait) => jobs.sendDelayed(job, hasBug ? noDelay : wait) }),
      // The pending recheck is not recorded.
      log: overrideMethods(log, { heartbeats: async () => [{ node: 'a' as never, at: env.ports.clock.now(), resends: 0 }] }),
    },
  });
  const look = (hasBug: boolean) => async (job: Job) => {
    if (job.kind === 'recheck') await recheckRun(worker(hasBug), job);
  };
  await jobs.sendDelayed({ kind: 'recheck', run: address }, noDelay);
  const taken = await play(look(true), minutes(30));
  expect(slowed.length).toBeGreaterThan(8);
  expect(taken.length).toBeLessThan(60);
});

test('delayed rechecks do not count as hops', async () => {
  await limiter.handle(hops(3), () => jobs.sendDelayed(recheck, recheckDelay));
  const taken = await play(() => jobs.sendDelayed(recheck, recheckDelay), hours(6));
  expect(taken.length).toBeGreaterThan(140);
  expect(new Set(taken.map((each) => each.hops))).toEqual(new Set([3]));
  expect(slowed).toEqual([]);
});

describe('a commit', () => {
  const fresh = () => creation(freshRun());

  test('to any run resets the hop count', async () => {
    await limiter.handle(hops(5), async () => {
      await jobs.send([nodeJob({ run })]);
      await log.create(fresh());
      await jobs.send([nodeJob({ run, resend: 1 })]);
      await jobs.sendResult(resultOf({ run }));
    });
    expect(slowed).toEqual([]);
    expect([...ports.jobs.takeSent(), ...ports.jobs.takeResults()].map((each) => ports.jobs.hopsOf(each))).toEqual([6, 0, 0]);
  });

  test('of another invocation does not reset the count of this one', async () => {
    const both = [hops(1), hops(2)].map((count, index) =>
      limiter.handle(count, async () => {
        if (index === 0) await log.create(fresh());
        await ports.clock.sleep(noDelay);
        await jobs.send([nodeJob({ run, nodeId: nodeId(`n${index}`) })]);
      }),
    );
    await Promise.all(both);
    const found = ports.jobs.takeSent().map((job) => [job.nodeId, ports.jobs.hopsOf(job)]);
    expect(Object.fromEntries(found)).toEqual({ n0: 0, n1: 3 });
  });

  test('that existed before does not reset the count', async () => {
    const made = fresh();
    await log.create(made);
    await limiter.handle(hops(1), async () => {
      expect((await log.create(made)).kind).toBe('occupied');
      await jobs.send([nodeJob({ run })]);
    });
    expect(ports.jobs.takeSent().map((job) => ports.jobs.hopsOf(job))).toEqual([2]);
  });
});

test('a delayed message for code reaches the code through the delay queue', async () => {
  const { worker } = createTestEnv();
  await limiter.handle(hops(maxHops), () => jobs.send([task]));
  expect(ports.jobs.messages).toEqual([]);
  const [first] = ports.jobs.delayed;
  expect([first?.job, slowed.length]).toEqual([task, 1]);
  ports.clock.advance(seconds(1));
  for (const job of ports.jobs.takeDue())
    await limiter.handle(ports.jobs.hopsOf(job), () =>
      handleJob({ ...worker, deps: { ...worker.deps, jobs } }, job, { isRedelivered: false, mustEndAt: ports.clock.now() }),
    );
  expect(ports.jobs.messages).toEqual([task]);
});

test('a message sent outside an invocation starts a new chain', async () => {
  await jobs.send([nodeJob({ run })]);
  expect(ports.jobs.takeSent().map((job) => ports.jobs.hopsOf(job))).toEqual([noHops]);
});

describe('a broadcaster', () => {
  const watch = { run, broadcastId: memoryPorts().ids.nonce() };

  test('that passes its message on at once, many times, waits before it sends', async () => {
    const inner = new MemoryWatches();
    const watches = limiter.watches(inner);
    const startedAt = ports.clock.now();
    let isSent = false;
    const sending = limiter.handle(hops(maxHops), () => watches.send(watch)).then(() => (isSent = true));
    await Promise.resolve();
    expect(isSent).toBe(false);
    ports.clock.advance(seconds(1));
    await sending;
    expect(between(startedAt, ports.clock.now())).toBe(seconds(1));
    expect(inner.sent.map((each) => inner.hopsOf(each))).toEqual([17]);
    expect(slowed).toEqual([{ runId: run.runId, kind: 'watch', hops: 17, delay: seconds(1) }]);
  });

  test('whose invocations take long sends without a delay', async () => {
    const inner = new MemoryWatches();
    await limiter.handle(hops(2), async () => {
      ports.clock.advance(seconds(90));
      await limiter.watches(inner).send(watch);
    });
    expect(inner.sent.map((each) => inner.hopsOf(each))).toEqual([2]);
  });
});

test('an error of a send reaches its sender', async () => {
  const broken: Jobs = overrideMethods(ports.jobs, { sendDelayed: () => Promise.reject(new Unavailable('the delay queue')) });
  const sending = limiter.handle(hops(maxHops), () => limiter.jobs(broken).send([task]));
  await expect(sending).rejects.toThrow(Unavailable);
  expect(slowed).toEqual([]);
});
