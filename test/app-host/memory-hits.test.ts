import { expect, test } from 'vitest';
import { memoryHits, recentMs } from '../../lib/app-host/index.ts';
import { hitAt, hitStoreSuite } from './hits.suite.ts';

hitStoreSuite('hits in memory', () => {
  const store = memoryHits();
  return Promise.resolve([store, store] as const);
});

test('the window ends within a second after fifteen minutes, not earlier', async () => {
  for (const offset of [0, 1, 500, 999]) {
    const hits = memoryHits();
    const at = 1_000_000 + offset;
    await hits.record(hitAt(at));
    expect((await hits.counts(at + recentMs)).recent).toBe(1);
    expect((await hits.counts(at + recentMs + 1_000)).recent).toBe(0);
  }
});

test('an hour of hits needs only the counters of fifteen minutes', async () => {
  const hits = memoryHits();
  for (let ms = 0; ms < 3_600_000; ms += 100) await hits.record(hitAt(ms));
  const { recent, lifetime } = await hits.counts(3_600_000 - 1);
  expect(lifetime).toBe(36_000);
  expect(recent).toBeGreaterThanOrEqual(9_000);
  expect(recent).toBeLessThanOrEqual(9_010);
});

test('a query about an earlier time keeps later hits', async () => {
  const hits = memoryHits();
  await hits.record(hitAt(5_000_000));
  await hits.counts(0);
  expect((await hits.counts(5_000_000)).recent).toBe(1);
});
