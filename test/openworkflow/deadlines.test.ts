/** A run whose deadline has passed never starts, and its records are retained after its end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { durationMs, days } from '../../lib/engine/time.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { TestBackend } from './test-backend.ts';

/** A store that records the expiry of each written item. */
function recorded() {
  const expiries: number[] = [];
  const plain = new MemoryExternalRuns();
  const ofRuns: ReadonlySet<PropertyKey> = new Set<keyof ExternalRuns>(['append', 'putListing', 'reserveKey', 'addWaiter']);
  const store: ExternalRuns = new Proxy(plain, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...given: readonly unknown[]): unknown => {
        if (ofRuns.has(name)) expiries.push(Number(given.at(-1)));
        return Reflect.apply(method, target, given);
      };
    },
  });
  return { testBackend: new TestBackend(store), expiries };
}

test('a run that is created with a past deadline is failed by the next poll, and never claimed', async () => {
  const { testBackend, expiries } = recorded();
  const run = await testBackend.create({ deadlineAt: testBackend.at(-90 * 86_400_000), idempotencyKey: 'k' });
  expect(await testBackend.claim()).toBeNull();
  const ended = await testBackend.run(run.id);
  expect(ended).toMatchObject({ status: 'failed', error: { message: 'Workflow run deadline exceeded' }, attempts: 0 });
  expect(Math.min(...expiries)).toBeGreaterThanOrEqual((ended.finishedAt?.getTime() ?? 0) + days(30));
});

test('all records of a run are retained for thirty days after its end, also when the poll that ends it is a day late', async () => {
  const past = fc.integer({ min: -400 * 86_400_000, max: 400 * 86_400_000 });
  const late = fc.integer({ min: 0, max: 86_400_000 - 1 });
  await fc.assert(
    fc.asyncProperty(past, late, fc.boolean(), async (deadlineMs, lateMs, isClaimed) => {
      const { testBackend, expiries } = recorded();
      const run = await testBackend.create({ deadlineAt: testBackend.at(deadlineMs), idempotencyKey: 'k' });
      if (isClaimed && (await testBackend.claim()) !== null) await testBackend.wait(run.id, 'go');
      testBackend.clock.advance(durationMs(Math.max(0, deadlineMs) + lateMs));
      await testBackend.claim('other');
      const { finishedAt } = await testBackend.run(run.id);
      expect(finishedAt).not.toBeNull();
      expect(Math.min(...expiries)).toBeGreaterThanOrEqual((finishedAt?.getTime() ?? 0) + days(30));
    }),
    { numRuns: 60 },
  );
});
