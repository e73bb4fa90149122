/** Retries: exact delays, which outcomes are repeated, and what ends the repetition. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Backoff, type RetryPolicy, backoffMs, nextAttempt, retry, retryOutcome } from '../../lib/base/retry.ts';

const delays = (backoff: Backoff, attempts: readonly number[], random?: number): readonly number[] =>
  attempts.map((attempt) => backoffMs(backoff, attempt, random));

describe('the backoff', () => {
  test('doubles from the base up to the maximum', () => {
    expect(delays({ baseMs: 250 }, [1, 2, 3, 4])).toEqual([250, 500, 1_000, 2_000]);
    expect(delays({ baseMs: 250, maxMs: 900 }, [1, 2, 3, 4, 5_000])).toEqual([250, 500, 900, 900, 900]);
  });

  test('has another factor where one is given; with 1 all delays are equal', () => {
    expect(delays({ baseMs: 100, factor: 3 }, [1, 2, 3])).toEqual([100, 300, 900]);
    expect(delays({ baseMs: 100, factor: 1 }, [1, 2, 50])).toEqual([100, 100, 100]);
  });

  test.each([
    [0, [400, 400, 400]],
    [0.25, [300, 350, 400]],
    [0.5, [200, 300, 400]],
    [1, [0, 200, 400]],
  ])('with jitter %d is 400 ms, less the random part', (jitter, expected) => {
    expect([0, 0.5, 1].map((random) => backoffMs({ baseMs: 200, jitter }, 2, random))).toEqual(expected);
  });

  test('is never more than the maximum, and never not a number', () => {
    const backoff = fc.record({
      baseMs: fc.integer({ min: 0, max: 100_000 }),
      factor: fc.double({ min: 1, max: 1e9, noNaN: true }),
      maxMs: fc.integer({ min: 0, max: 1e9 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(
        backoff,
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (each, attempt, random) => {
          const delayMs = backoffMs(each, attempt, random);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(each.maxMs);
        },
      ),
    );
  });
});

describe('the next attempt', () => {
  const limits = { attempts: 3, backoff: { baseMs: 1_000, jitter: 1 } };

  test('begins after a whole number of milliseconds, rounded down', () => {
    expect(nextAttempt(limits, 1, { random: 0.9999 })).toEqual({ kind: 'retry', delayMs: 999 });
    expect(nextAttempt(limits, 2, { random: 0.25 })).toEqual({ kind: 'retry', delayMs: 500 });
  });

  test('waits for the requested delay and the backoff', () => {
    expect(nextAttempt(limits, 1, { random: 0.5, requestedDelayMs: 7_000 })).toEqual({ kind: 'retry', delayMs: 7_500 });
  });

  test('does not follow the last attempt', () => {
    expect(nextAttempt(limits, 3)).toEqual({ kind: 'give-up', reason: 'attempts' });
    expect(nextAttempt({ attempts: 1, backoff: { baseMs: 1 } }, 1)).toEqual({ kind: 'give-up', reason: 'attempts' });
    expect(nextAttempt({ ...limits, attempts: Infinity }, 1e6).kind).toBe('retry');
  });

  test('may begin at the deadline, and not after it', () => {
    expect(nextAttempt(limits, 2, { remainingMs: 2_000 })).toEqual({ kind: 'retry', delayMs: 2_000 });
    expect(nextAttempt(limits, 2, { remainingMs: 1_999 })).toEqual({ kind: 'give-up', reason: 'deadline' });
    expect(nextAttempt(limits, 1, { requestedDelayMs: 2_000, remainingMs: 1_500 }).kind).toBe('give-up');
  });
});

/** A call whose outcomes are given, with the waits between them. */
function scripted<Outcome>(outcomes: readonly Outcome[]) {
  const waits: number[] = [];
  let attempts = 0;
  return {
    waits,
    attempt: async (): Promise<Outcome> => {
      const outcome = outcomes[attempts];
      attempts += 1;
      if (outcome === undefined) throw new Error(`attempt ${attempts} was not expected`);
      return outcome;
    },
    sleep: async (ms: number): Promise<void> => void waits.push(ms),
    count: () => attempts,
  };
}
const policy: RetryPolicy<string> = {
  attempts: 4,
  backoff: { baseMs: 100 },
  isRetryable: (outcome) => outcome.startsWith('busy'),
};

describe('an attempt with an outcome', () => {
  test('is repeated until the outcome is not retryable', async () => {
    const { attempt, sleep, waits } = scripted(['busy', 'busy', 'done']);
    expect(await retryOutcome(attempt, policy, { sleep })).toBe('done');
    expect(waits).toEqual([100, 200]);
  });

  test('returns the last outcome when the attempts are used up, without another wait', async () => {
    const { attempt, sleep, waits } = scripted(['busy 1', 'busy 2', 'busy 3', 'busy 4']);
    expect(await retryOutcome(attempt, policy, { sleep })).toBe('busy 4');
    expect(waits).toEqual([100, 200, 400]);
  });

  test('takes each delay from the random source, the outcome and the number of the attempt', async () => {
    const { attempt, sleep, waits } = scripted(['busy', 'busy', 'busy 5000', 'done']);
    const chances = [0.5, 0, 0.25];
    const jittered = {
      ...policy,
      backoff: { baseMs: 100, jitter: 1 },
      requestedDelayMs: (outcome: string) => (outcome === 'busy' ? undefined : Number(outcome.slice('busy '.length))),
    };
    await retryOutcome(attempt, jittered, { sleep, random: () => chances.shift() ?? 1 });
    expect(waits).toEqual([50, 0, 5_100]);
  });

  test('is not repeated after the deadline', async () => {
    const { attempt, sleep, waits } = scripted(['busy 1', 'busy 2', 'busy 3']);
    const remainingMs = (): number => 550 - waits.reduce((sum, wait) => sum + wait, 0);
    expect(await retryOutcome(attempt, { ...policy, remainingMs }, { sleep })).toBe('busy 3');
    expect(waits).toEqual([100, 200]);
  });

  test('reports each retry before the wait', async () => {
    const { attempt, sleep, waits } = scripted(['busy 1', 'busy 2', 'done']);
    const reported: unknown[] = [];
    const onRetry = (outcome: string, failedAttempt: number): void => void reported.push([outcome, failedAttempt, waits.length]);
    await retryOutcome(attempt, { ...policy, onRetry }, { sleep });
    expect(reported).toEqual([
      ['busy 1', 1, 0],
      ['busy 2', 2, 1],
    ]);
  });

  test('ends with the error of an aborted wait', async () => {
    const { attempt, sleep, count } = scripted(['busy', 'busy', 'done']);
    const controller = new AbortController();
    const abortableSleep = async (ms: number): Promise<void> => {
      await sleep(ms);
      if (count() === 2) controller.abort(new Error('interrupted'));
      controller.signal.throwIfAborted();
    };
    await expect(retryOutcome(attempt, policy, { sleep: abortableSleep })).rejects.toThrow('interrupted');
    expect(count()).toBe(2);
  });
});

describe('a call that throws', () => {
  const isRetryable = (error: unknown): boolean => error instanceof RangeError;
  const throwing = (errors: readonly Error[]) => {
    const { attempt, ...rest } = scripted<Error | 'done'>([...errors, 'done']);
    const call = async (): Promise<string> => {
      const outcome = await attempt();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    };
    return { call, ...rest };
  };

  test('is repeated while its error is retryable', async () => {
    const { call, sleep, waits } = throwing([new RangeError('1'), new RangeError('2')]);
    const retried: unknown[] = [];
    const onRetry = (error: unknown, failedAttempt: number): void => void retried.push([String(error), failedAttempt]);
    expect(await retry(call, { attempts: 3, backoff: { baseMs: 10 }, isRetryable, onRetry }, { sleep })).toBe('done');
    expect(waits).toEqual([10, 20]);
    expect(retried).toEqual([
      ['RangeError: 1', 1],
      ['RangeError: 2', 2],
    ]);
  });

  test('throws the last error itself', async () => {
    const errors = [new RangeError('1'), new RangeError('2')] as const;
    const { call, sleep, waits } = throwing(errors);
    await expect(retry(call, { attempts: 2, backoff: { baseMs: 10 }, isRetryable }, { sleep })).rejects.toBe(errors[1]);
    expect(waits).toEqual([10]);
    const fatal = new TypeError('fatal');
    const other = throwing([fatal]);
    await expect(retry(other.call, { attempts: 9, backoff: { baseMs: 10 }, isRetryable }, other)).rejects.toBe(fatal);
    expect(other.count()).toBe(1);
  });
});
