/** Ids of external-worker runs and their step attempts: each identifies its run, and other texts are rejected. */
import { describe, expect, test } from 'vitest';
import {
  parseExternalRunId,
  parseStepAttemptId,
  externalRunId,
  runOfStep,
  stepAttemptId,
} from '../../../lib/engine/external/run.ts';

const random = '0f8fad5b-d9cb-469f-a165-70867728950e';
const run = '0f8fad5b-d9cb-869f-a165-708677000000';
const made = () => externalRunId(random);

describe('the id of a run', () => {
  test('keeps a random UUID except for its version and its last six digits', () => {
    expect(made()).toBe(run);
    expect(parseExternalRunId(run)).toBe(run);
  });

  test.each(['', 'wrun_1', '0f8fad5bxd9cb-469f-a165-70867728950e', '0F8FAD5B-D9CB-469F-A165-70867728950E'])(
    'is not made from %j',
    (text) => {
      expect(() => externalRunId(text)).toThrow(`not a UUID: ${JSON.stringify(text)}`);
    },
  );

  test.each([
    ['of another version', '0f8fad5b-d9cb-469f-a165-708677000000'],
    ['of another variant', '0f8fad5b-d9cb-869f-c165-708677000000'],
    ['in capitals', '0F8FAD5B-D9CB-869F-A165-708677000000'],
    ['with a prefix', `x${run}`],
    ['with a suffix', `${run}000000`],
    ['with another end', '0f8fad5b-d9cb-869f-a165-708677000001'],
    ['that is other text', 'a run that ends in 000000'],
  ])('is rejected %s', (_what, text) => {
    expect(parseExternalRunId(text)).toBeUndefined();
  });
});

describe('the id of a step attempt', () => {
  test('is its run’s id with the number of the fact that began it', () => {
    expect(stepAttemptId(made(), 1)).toBe('0f8fad5b-d9cb-869f-a165-708677000001');
    expect(stepAttemptId(made(), 0xab_cd_ef)).toBe('0f8fad5b-d9cb-869f-a165-708677abcdef');
    expect(stepAttemptId(made(), 0xff_ff_ff)).toBe('0f8fad5b-d9cb-869f-a165-708677ffffff');
  });

  test.each([0, -1, 0x1_00_00_00])('has no fact number %j', (fact) => {
    expect(() => stepAttemptId(made(), fact)).toThrow(`fact number ${fact}`);
  });

  test('identifies its run', () => {
    const step = stepAttemptId(made(), 20);
    expect([parseStepAttemptId(step), runOfStep(step)]).toEqual([step, run]);
    expect([parseExternalRunId(step), parseStepAttemptId(run), runOfStep(run)]).toEqual([undefined, undefined, undefined]);
  });

  test.each([
    '',
    'a step',
    '0f8fad5b-d9cb-469f-a165-708677000001',
    'x0f8fad5b-d9cb-869f-a165-708677000001',
    '0f8fad5b-d9cb-869f-a165-7086770000011',
  ])('is not %j', (text) => {
    expect([parseStepAttemptId(text), runOfStep(text)]).toEqual([undefined, undefined]);
  });
});
