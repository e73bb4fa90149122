/** Node ids of steps, and the retry delays of code runs. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  workflowTaskNodeId,
  stepNodeId,
  decideRetry,
  stepRetryDefaults,
  workflowRetryDefaults,
} from '../../../lib/engine/durable/step.ts';
import { nodeIdPattern } from '../../../lib/engine/ids.ts';
import { after, days, seconds } from '../../../lib/engine/time.ts';
import { dawn } from '../graph-run-fixture.ts';

test('a plain key is its own id, and other characters are escaped', () => {
  expect(stepNodeId('charge-card')).toBe('charge-card');
  expect(stepNodeId('charge:1')).toBe('charge:1');
  expect(stepNodeId('user.fetch')).toBe('user.fetch');
  expect(stepNodeId('charge card')).toBe('charge.x20.card');
  expect(stepNodeId('支払')).toBe('.x652f..x6255.');
  expect(stepNodeId('')).toMatch(nodeIdPattern);
  expect(stepNodeId('é'.repeat(300))).toHaveLength(128);
});

test('no two keys have the same id, and none has that of a workflow task', () => {
  const key = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: fc.constantFrom('a', '.', 'x', '2', '0', ' ', 'h', ':'), maxLength: 8 }),
    fc.string({ minLength: 120, maxLength: 140 }),
  );
  fc.assert(
    fc.property(fc.uniqueArray(key, { minLength: 2, maxLength: 30 }), (keys) => {
      const ids = keys.map(stepNodeId);
      expect(new Set(ids).size).toBe(keys.length);
      for (const id of ids) {
        expect(id).toMatch(nodeIdPattern);
        expect(id).not.toBe(workflowTaskNodeId(1));
      }
    }),
    { numRuns: 2_000 },
  );
  expect(stepNodeId('.workflow-task.1')).not.toBe(workflowTaskNodeId(1));
});

test('delays are min(1 s × 2^(attempt − 1), 100 s) without jitter, and end after ten attempts', () => {
  const waits = Array.from({ length: 10 }, (_, index) =>
    decideRetry(stepRetryDefaults, { failedAttempt: index + 1, isFinal: false, now: dawn, deadlineAt: after(dawn, days(1)) }),
  );
  expect(waits.map((judged) => (judged.kind === 'retry' ? judged.delayMs / 1_000 : 'over'))).toEqual([
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    100,
    100,
    'over',
  ]);
});

test('0 attempts means no limit, a workflow has one attempt, and a final failure is not retried', () => {
  const asked = { isFinal: false, now: dawn, deadlineAt: after(dawn, days(1)) };
  expect(decideRetry({ ...stepRetryDefaults, maximumAttempts: 0 }, { ...asked, failedAttempt: 9_999 }).kind).toBe('retry');
  expect(decideRetry(workflowRetryDefaults, { ...asked, failedAttempt: 1 }).kind).toBe('give_up');
  expect(decideRetry(stepRetryDefaults, { ...asked, failedAttempt: 1, isFinal: true }).kind).toBe('give_up');
});

test('a retry at the deadline or after it is given up', () => {
  const asked = { failedAttempt: 1, isFinal: false, now: dawn };
  expect(decideRetry(stepRetryDefaults, { ...asked, deadlineAt: after(dawn, seconds(1)) }).kind).toBe('give_up');
  expect(decideRetry(stepRetryDefaults, { ...asked, deadlineAt: after(dawn, seconds(2)) }).kind).toBe('retry');
});
