/** The contract of every hit store. Use it to test your own shared store; counters per minute are precise enough. */
import { describe, expect, test } from 'vitest';
import { type Hit, type HitStore, recentMs } from '../../lib/app-host/index.ts';

const minute = 60_000;
const beginning = Date.UTC(2026, 0, 1);
export const hitAt = (at: number, change: Partial<Hit> = {}): Hit => ({
  at,
  path: '/.well-known/workflow/v1/flow',
  markerHeaders: ['x-vqs-signature'],
  bodyShapeMatched: true,
  ...change,
});

/** @param make two clients of one empty store, as in two processes; a store of one process returns the same client twice */
export const hitStoreSuite = (name: string, make: () => Promise<readonly [HitStore, HitStore]>): void => {
  describe(name, () => {
    test('an empty store has zero counts', async () => {
      const [one] = await make();
      expect(await one.counts(beginning)).toEqual({ lifetime: 0, recent: 0, last: null });
    });

    test('one client counts the hits that the other has recorded', async () => {
      const [one, other] = await make();
      await one.record(hitAt(beginning));
      await other.record(
        hitAt(beginning + 1, { path: '/.well-known/workflow/v1/step', markerHeaders: [], bodyShapeMatched: false }),
      );
      for (const each of [one, other])
        expect(await each.counts(beginning + 1)).toEqual({
          lifetime: 2,
          recent: 2,
          last: { at: beginning + 1, path: '/.well-known/workflow/v1/step', markerHeaders: [], bodyShapeMatched: false },
        });
    });

    test('hits at the same time are all counted', async () => {
      const [one, other] = await make();
      await Promise.all(Array.from({ length: 40 }, (_none, n) => (n % 2 === 0 ? one : other).record(hitAt(beginning))));
      expect(await one.counts(beginning)).toMatchObject({ lifetime: 40, recent: 40 });
    });

    test('a hit is recent for fifteen to sixteen minutes, and stays in the lifetime count', async () => {
      const [one] = await make();
      await one.record(hitAt(beginning + 30_500));
      const age = (ms: number) => one.counts(beginning + 30_500 + ms);
      expect((await age(0)).recent).toBe(1);
      expect((await age(recentMs - 1)).recent).toBe(1);
      expect(await age(recentMs + minute)).toMatchObject({ recent: 0, lifetime: 1, last: { at: beginning + 30_500 } });
    });

    test('the last hit is the latest by its time, in any order of recording', async () => {
      const [one] = await make();
      await one.record(hitAt(beginning + minute));
      await one.record(hitAt(beginning));
      expect(await one.counts(beginning + minute)).toMatchObject({ lifetime: 2, recent: 2, last: { at: beginning + minute } });
    });
  });
};
