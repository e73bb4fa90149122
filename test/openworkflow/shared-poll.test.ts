/** The cost of claims, as counts of the store's calls, which do not depend on the machine. */
import { randomUUID } from 'node:crypto';
import { OpenWorkflow } from 'openworkflow';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { after, durationMs, instant, minutes, seconds } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import { ExternalRunsBackend } from '../../lib/openworkflow/backend/backend.ts';
import { externalShards } from '../../lib/aws/external-keys.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { noon } from '../contract/samples.ts';
import { TestBackend } from './test-backend.ts';

type Calls = Partial<Record<keyof ExternalRuns, number>>;

/** The store with a counter for each method. */
function counted(store: ExternalRuns): { readonly store: ExternalRuns; readonly take: () => Calls } {
  let calls: Record<string, number> = {};
  return {
    store: new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...given: readonly unknown[]): unknown => {
          calls[String(name)] = (calls[String(name)] ?? 0) + 1;
          return Reflect.apply(method, target, given);
        };
      },
    }),
    take: () => {
      const taken = calls;
      calls = {};
      return taken;
    },
  };
}

const ofProcess = (store: ExternalRuns, clock = new MemoryClock(noon)) => {
  const counts = counted(store);
  return { testBackend: new TestBackend(counts.store, { clock, namespaceId: 'team' }), take: counts.take };
};

const claims = (testBackend: TestBackend, slots: number, worker = 'w') =>
  Promise.all(Array.from({ length: slots }, (_, slot) => testBackend.claim(`${worker}${slot}`)));

const createMany = (testBackend: TestBackend, count: number) =>
  Promise.all(Array.from({ length: count }, () => testBackend.create()));

describe('one claim of many slots', () => {
  test.each([1, 10, 350])('reads the reminders once where nothing is due: %i slots', async (slots) => {
    const { testBackend, take } = ofProcess(new MemoryExternalRuns());
    expect(await claims(testBackend, slots)).toEqual(Array.from({ length: slots }, () => null));
    expect(take()).toEqual({ reminders: 1 });
  });

  test('of 300 due runs with 350 slots needs one read of the reminders, and one log read and four writes per run', async () => {
    const store = new MemoryExternalRuns();
    const [client, worker] = [ofProcess(store), ofProcess(store)];
    const made = await createMany(client.testBackend, 300);
    const claimed = (await claims(worker.testBackend, 350)).flatMap((run) => run?.id ?? []);
    expect(claimed.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    expect(worker.take()).toEqual({
      reminders: 1,
      entries: 300,
      append: 300,
      addReminder: 300,
      putListing: 300,
      deleteReminder: 300,
    });
  });

  test('assigns runs in order: new ones first, then those that have waited longest', async () => {
    const { testBackend } = ofProcess(new MemoryExternalRuns());
    const parked = await testBackend.claimed('p');
    await testBackend.park(parked.id, 0, 'p');
    testBackend.clock.advance(seconds(1));
    const [second, first] = [await testBackend.create(), await testBackend.create({ availableAt: testBackend.at(-60_000) })];
    expect((await claims(testBackend, 3)).map((run) => run?.id)).toEqual([first.id, second.id, parked.id]);
  });

  test('reads more where none of the first reminders can be claimed', async () => {
    const store = new MemoryExternalRuns();
    const [client, worker] = [ofProcess(store), ofProcess(store)];
    const taken = await createMany(client.testBackend, 40);
    const standing = await store.reminders('team', noon, 100);
    await claims(client.testBackend, 40, 'other');
    // Their owner has not deleted them yet.
    for (const reminder of standing) await store.addReminder('team', reminder, after(noon, minutes(60)));
    client.testBackend.clock.advance(durationMs(1));
    const later = await client.testBackend.create();
    worker.testBackend.clock.advance(durationMs(1));
    expect(taken).toHaveLength(40);
    expect((await worker.testBackend.claim())?.id).toBe(later.id);
  });

  test('of two processes with 350 slots each claims every run once, with at most three reads of each log', async () => {
    const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
    const [one, two] = [ofProcess(store, clock), ofProcess(store, clock)];
    const made = await createMany(ofProcess(store, clock).testBackend, 300);
    const claimed = (await Promise.all([claims(one.testBackend, 350, 'a'), claims(two.testBackend, 350, 'b')]))
      .flat()
      .flatMap((run) => run?.id ?? []);
    expect(claimed.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
    for (const { entries = 0, reminders = 0 } of [one.take(), two.take()]) {
      expect(entries).toBeLessThanOrEqual(900);
      expect(reminders).toBeLessThanOrEqual(8);
    }
  });
});

test('a reminder of a run that another process has just changed is checked once, and deleted after five seconds', async () => {
  const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
  const [owner, other] = [ofProcess(store, clock), ofProcess(store, clock)];
  await owner.testBackend.create();
  const [reminder] = await store.reminders('team', noon, 1);
  await owner.testBackend.claim('owner');
  if (reminder === undefined) throw new Error('no reminder');
  await store.addReminder('team', reminder, after(noon, minutes(60)));
  for (let poll = 0; poll < 10; poll += 1) expect(await other.testBackend.claim()).toBeNull();
  expect(other.take()).toEqual({ reminders: 10, entries: 1 });
  clock.advance(seconds(5));
  expect(await other.testBackend.claim()).toBeNull();
  expect(other.take()).toMatchObject({ entries: 1, deleteReminder: 1 });
  expect(await store.reminders('team', clock.now(), 9)).toEqual([]);
});

test('a slot that asks during a poll gets runs that were written before its request', async () => {
  const store = new MemoryExternalRuns();
  const [client, worker] = [ofProcess(store), ofProcess(store)];
  const early = worker.testBackend.claim('early');
  await Promise.resolve();
  await Promise.resolve();
  const run = await client.testBackend.create();
  expect((await worker.testBackend.claim('late'))?.id).toBe(run.id);
  expect(await early).toBeNull();
});

test('a failing claim rejects only its slot, and the next poll claims the run', async () => {
  const store = new MemoryExternalRuns();
  let isBroken = true;
  const broken: ExternalRuns = new Proxy(store, {
    get(target, name) {
      if (name === 'append' && isBroken) {
        isBroken = false;
        return () => Promise.reject(new TypeError('refused'));
      }
      const method: unknown = Reflect.get(target, name);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
  const [client, worker] = [ofProcess(store), ofProcess(broken)];
  const made = await createMany(client.testBackend, 3);
  const outcomes = await Promise.allSettled([
    worker.testBackend.claim('a'),
    worker.testBackend.claim('b'),
    worker.testBackend.claim('c'),
  ]);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  const claimed = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? (outcome.value?.id ?? []) : []));
  const last = await worker.testBackend.claim('d');
  expect(new Set([...claimed, last?.id])).toEqual(new Set(made.map(({ id }) => id)));
  expect(claimed).toHaveLength(2);
});

test('another process claims the runs of a crashed process after their leases expire', async () => {
  const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
  const [crashed, survivor] = [ofProcess(store, clock), ofProcess(store, clock)];
  const made = await createMany(crashed.testBackend, 40);
  await claims(crashed.testBackend, 40);
  expect(await claims(survivor.testBackend, 50)).toEqual(Array.from({ length: 50 }, () => null));
  clock.advance(minutes(1));
  const claimed = (await claims(survivor.testBackend, 50, 'survivor')).flatMap((run) => run ?? []);
  expect(claimed.map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted());
  expect(claimed.every(({ attempts }) => attempts === 2)).toBe(true);
});

describe('a process that finds nothing', () => {
  afterEach(() => void vi.useRealTimers());

  const hour = 3_600_000;
  /** A strongly consistent query without results costs one unit. */
  const unitsOf = ({ reminders = 0 }: Calls): number => reminders * externalShards.length;
  const timed = () => {
    const counts = counted(new MemoryExternalRuns());
    const sleep = (wait: number, signal?: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, wait);
        signal?.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve();
        });
      });
    const clock = { now: () => instant(Date.now()) };
    const parts = { store: counts.store, clock, sleep, warn: () => {}, newId: randomUUID, random: Math.random };
    return { backend: new ExternalRunsBackend(parts, 'team'), take: counts.take };
  };

  test.each([
    [1, 1],
    [10, 1],
    [100, 1],
    [350, 1],
    [20, 6],
  ])('reads at most 20,000 units in an hour: published workers with %i slots, %i workers', async (concurrency, workers) => {
    vi.useFakeTimers({ now: noon });
    const { backend, take } = timed();
    const ow = new OpenWorkflow({ backend });
    const all = Array.from({ length: workers }, () => ow.newWorker({ concurrency }));
    for (const worker of all) await worker.start();
    // The first waits are short.
    await vi.advanceTimersByTimeAsync(10_000);
    take();
    await vi.advanceTimersByTimeAsync(hour / 6);
    const calls = take();
    const stopped = Promise.all(all.map((worker) => worker.stop()));
    await vi.advanceTimersByTimeAsync(2_000);
    await stopped;
    expect(calls).toEqual({ reminders: calls.reminders });
    expect(unitsOf(calls) * 6).toBeGreaterThan(10_000);
    expect(unitsOf(calls) * 6).toBeLessThanOrEqual(20_000);
  });

  test('reads exactly 19,200 units in an hour with slots that ask without a pause', async () => {
    vi.useFakeTimers({ now: noon });
    const { backend, take } = timed();
    let isOver = false;
    const slot = async (workerId: string): Promise<void> => {
      while (!isOver) await backend.claimWorkflowRun({ workerId, leaseDurationMs: 30_000 });
    };
    const slots = ['a', 'b', 'c'].map(slot);
    await vi.advanceTimersByTimeAsync(10_000);
    take();
    await vi.advanceTimersByTimeAsync(hour);
    expect(unitsOf(take())).toBe(19_200);
    isOver = true;
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all(slots);
  });

  test('does not wait for a run that it has created itself', async () => {
    vi.useFakeTimers({ now: noon });
    const { backend } = timed();
    for (let poll = 0; poll < 10; poll += 1) {
      const claim = backend.claimWorkflowRun({ workerId: 'w', leaseDurationMs: 30_000 });
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await claim).toBeNull();
    }
    await backend.claimWorkflowRun({ workerId: 'w', leaseDurationMs: 30_000 });
    const claim = backend.claimWorkflowRun({ workerId: 'w', leaseDurationMs: 30_000 });
    const run = await backend.createWorkflowRun({
      workflowName: 'orders',
      version: null,
      idempotencyKey: null,
      config: {},
      context: null,
      input: null,
      availableAt: null,
      deadlineAt: null,
    });
    // No timer has fired in between.
    expect((await claim)?.id).toBe(run.id);
  });
});
