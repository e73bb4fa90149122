/** When a message counts as a hop, and how long the next one is delayed. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type NextHop, hops, maxHops, nextHop, noHops, minUncountedInterval } from '../../lib/engine/hops.ts';
import { durationMs, minutes, seconds } from '../../lib/engine/time.ts';

const now = durationMs(0);
const handled = (count: number, more: { hasCommitted?: boolean; took?: number } = {}) => ({
  hops: hops(count),
  hasCommitted: more.hasCommitted ?? false,
  duration: durationMs(more.took ?? 10),
});

/** A chain of messages in which each handler only sends the next one, at once. */
function chainOf(length: number): readonly NextHop[] {
  const chain: NextHop[] = [];
  for (let sent = 0; sent < length; sent += 1) chain.push(nextHop(handled(chain.at(-1)?.hops ?? 0), now));
  return chain;
}

test('a message sent outside any handler starts a chain', () => {
  expect(nextHop(undefined, seconds(5))).toEqual({ hops: 0, delay: seconds(5), isSlowed: false });
});

test('a chain makes 16 hops without delay', () => {
  const chain = chainOf(maxHops);
  expect(chain.map((each) => each.hops)).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
  expect(chain.every(({ delay, isSlowed }) => delay === 0 && !isSlowed)).toBe(true);
});

test('beyond the limit every second hop is delayed, twice as long each time, up to four minutes', () => {
  const waits = chainOf(maxHops + 22).slice(maxHops);
  expect(waits.filter((_, index) => index % 2 === 0).map(({ delay }) => delay / 1_000)).toEqual([
    1, 2, 4, 8, 16, 32, 64, 128, 240, 240, 240,
  ]);
  expect(waits.filter((_, index) => index % 2 === 1).map(({ delay }) => delay)).toEqual(Array.from({ length: 11 }, () => 0));
  expect(waits.every(({ delay, isSlowed }) => isSlowed === delay > 0)).toBe(true);
});

test('a commit resets the count', () => {
  expect(nextHop(handled(500, { hasCommitted: true }), now)).toEqual({ hops: 0, delay: 0, isSlowed: false });
});

test('a hop that takes a minute is not counted, whether it waits or works', () => {
  const same = { hops: hops(40), isSlowed: false };
  expect(nextHop(handled(40), seconds(150))).toEqual({ ...same, delay: seconds(150) });
  expect(nextHop(handled(40, { took: minUncountedInterval }), now)).toEqual({ ...same, delay: now });
  expect(nextHop(handled(40, { took: 40_000 }), seconds(20))).toEqual({ ...same, delay: seconds(20) });
  expect(nextHop(handled(maxHops, { took: 39_000 }), seconds(20))).toEqual({ hops: 17, delay: seconds(20), isSlowed: false });
});

test('a chain without commits sends at most 64 fast messages in its first hour, and 32 per hour at the maximum delay', () => {
  const hop = fc.record({
    asked: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 900_000 })),
    took: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 900_000 })),
  });
  fc.assert(
    fc.property(fc.array(hop, { minLength: 1, maxLength: 400 }), (chain) => {
      let count = noHops;
      let at = 0;
      // Hops of a minute or more are few anyway.
      const hurried: { readonly at: number; readonly hops: number }[] = [];
      for (const { asked, took } of chain) {
        const next = nextHop(handled(count, { took }), durationMs(asked));
        expect(next.delay).toBeGreaterThanOrEqual(asked);
        at += took + next.delay;
        count = next.hops;
        if (took + asked < minUncountedInterval) hurried.push({ at, hops: next.hops });
      }
      const within = (from: number): number => hurried.filter((each) => each.at >= from && each.at < from + minutes(60)).length;
      expect(within(0)).toBeLessThanOrEqual(64);
      for (const each of hurried) if (each.hops > 33) expect(within(each.at)).toBeLessThanOrEqual(32);
    }),
    { numRuns: 200, examples: [[Array.from({ length: 400 }, () => ({ asked: 0, took: 0 }))]] },
  );
});
