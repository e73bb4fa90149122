/** The delay before the next attempt: doubled each time, never above the maximum, never below the requested delay. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoff } from '../../lib/engine/retry.ts';
import { durationMs, seconds } from '../../lib/engine/time.ts';

const graphFamily = { backoffMs: seconds(1), maxBackoffMs: seconds(60), jitter: 'none' } as const;
const lensFamily = { backoffMs: durationMs(500), maxBackoffMs: seconds(8), jitter: 'half' } as const;

const policy = fc.record({
  backoffMs: fc.integer({ min: 0, max: 100_000 }).map(durationMs),
  maxBackoffMs: fc.integer({ min: 0, max: 3_600_000 }).map(durationMs),
  jitter: fc.constantFrom('none' as const, 'half' as const),
});
const failedAttempt = fc.integer({ min: 1, max: 10_000 });
const chance = fc.double({ min: 0, max: 1, noNaN: true });
const runs = { numRuns: 500, seed: 3 };

test('the graph family waits 1 s, 2 s, 4 s', () => {
  expect([1, 2, 3, 7].map((attempt) => backoff(graphFamily, attempt, 0.3))).toEqual([1_000, 2_000, 4_000, 60_000]);
});

test('the lens family waits between half and all of 0.5 s, 1 s, 2 s … 8 s', () => {
  expect([1, 2, 3, 5, 9].map((attempt) => backoff(lensFamily, attempt, 0))).toEqual([250, 500, 1_000, 4_000, 4_000]);
  expect([1, 2, 3, 5, 9].map((attempt) => backoff(lensFamily, attempt, 1))).toEqual([500, 1_000, 2_000, 8_000, 8_000]);
});

test('a delay is between half and all of min(maximum, base × 2^(attempt − 1)), in whole milliseconds', () => {
  fc.assert(
    fc.property(policy, failedAttempt, chance, (policyValue, attempt, random) => {
      const full =
        policyValue.backoffMs === 0 ? 0 : Math.min(policyValue.maxBackoffMs, policyValue.backoffMs * 2 ** (attempt - 1));
      const wait = backoff(policyValue, attempt, random);
      expect(Number.isSafeInteger(wait)).toBe(true);
      expect(wait).toBeLessThanOrEqual(full);
      expect(wait).toBeGreaterThanOrEqual(policyValue.jitter === 'half' ? Math.round(full / 2) : full);
    }),
    runs,
  );
});

test('a later attempt never has a shorter delay, with the same random number', () => {
  fc.assert(
    fc.property(policy, failedAttempt, chance, (policyValue, attempt, random) => {
      expect(backoff(policyValue, attempt + 1, random)).toBeGreaterThanOrEqual(backoff(policyValue, attempt, random));
    }),
    runs,
  );
});

test('a larger random number never has a shorter delay; without jitter it has no effect', () => {
  fc.assert(
    fc.property(policy, failedAttempt, chance, chance, (policyValue, attempt, one, other) => {
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      const waits = [0, less, more, 1].map((random) => backoff(policyValue, attempt, random));
      expect(waits).toEqual(waits.toSorted((a, b) => a - b));
      const full = backoff({ ...policyValue, jitter: 'none' }, attempt, one);
      expect([waits[0], waits[3]]).toEqual([policyValue.jitter === 'half' ? Math.round(full / 2) : full, full]);
    }),
    runs,
  );
});

test('a requested delay is respected, even above the maximum', () => {
  fc.assert(
    fc.property(
      policy,
      failedAttempt,
      chance,
      fc.integer({ min: 0, max: 10_000_000 }),
      (policyValue, attempt, random, requestedMs) => {
        expect(backoff(policyValue, attempt, random, requestedMs)).toBe(
          Math.max(requestedMs, backoff(policyValue, attempt, random)),
        );
      },
    ),
    runs,
  );
});

test.each([
  [0, 0.5],
  [1, -0.1],
  [1, 1.1],
])('attempt %d with random %d is rejected', (attempt, random) => {
  expect(() => backoff(graphFamily, attempt, random)).toThrow('no backoff');
});
