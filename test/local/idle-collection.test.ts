import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { type IdleCollection, startIdleCollection } from '../../lib/local/idle-collection.ts';

const started: IdleCollection[] = [];
afterEach(() => {
  for (const each of started.splice(0)) each.stop();
});

const megabyte = 1024 * 1024;

/** A collection of a heap whose size the test sets. */
function measured(pauseMs: number) {
  const heap = { megabytes: 100, collections: 0 };
  const collection = startIdleCollection({
    pauseMs,
    heapBytes: () => heap.megabytes * megabyte,
    collect: async () => {
      heap.collections += 1;
      heap.megabytes = 20;
    },
  });
  started.push(collection);
  return { heap, collection };
}

test('a pause of the work collects once', async () => {
  const { heap } = measured(20);
  await expect.poll(() => heap.collections).toBe(1);
  await wait(100);
  expect(heap.collections).toBe(1);
});

test('work without garbage is no reason to collect again, and a grown heap is', async () => {
  const { heap, collection } = measured(20);
  await expect.poll(() => heap.collections).toBe(1);
  heap.megabytes = 23;
  collection.onWork();
  await wait(100);
  expect(heap.collections).toBe(1);
  heap.megabytes = 30;
  collection.onWork();
  await expect.poll(() => heap.collections).toBe(2);
});

test('a stopped collection does not begin again', async () => {
  const { heap, collection } = measured(20);
  collection.stop();
  collection.onWork();
  await wait(100);
  expect(heap.collections).toBe(0);
});

test('the collection is a full one', async () => {
  const freed: string[] = [];
  const registry = new FinalizationRegistry((name: string) => void freed.push(name));
  registry.register({ text: 'unreachable' }, 'garbage');
  started.push(startIdleCollection({ pauseMs: 1, heapBytes: () => 100 * megabyte }));
  await expect.poll(() => freed, { timeout: 5_000 }).toEqual(['garbage']);
});
