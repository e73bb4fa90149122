/**
 * The conformance suite of the Workflow DevKit, twenty times in a row; of CI's share of the deep tier, five times. It prints how long each
 * round took: at most a minute.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { rotatingPart } from '../tier.ts';
import { registerSuite, suite } from './run-suite.ts';

const { count: rounds } = rotatingPart(20, 10);
const testsOfSuite = 12;

const counts = { passed: 0, failed: 0 };
const durations: number[] = [];
registerSuite();

describe.each(Array.from({ length: rounds }, (_, index) => index + 1))('round %i', () => {
  let startedAt = 0;
  beforeAll(() => void (startedAt = performance.now()));
  afterEach(({ task }) => {
    const isPassed = task.result?.state !== 'fail' && (task.result?.errors ?? []).length === 0;
    counts[isPassed ? 'passed' : 'failed'] += 1;
  });
  afterAll(() => void durations.push(performance.now() - startedAt));
  suite();
});

test('every round passed all tests', () => {
  const seconds = durations.map((ms) => (ms / 1_000).toFixed(1)).join(' ');
  console.log(`world-testing: ${counts.passed} of ${rounds * testsOfSuite} passed, rounds of ${seconds} s`);
  expect(counts).toEqual({ passed: rounds * testsOfSuite, failed: 0 });
});
