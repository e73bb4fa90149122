import { describe, expect, test } from 'vitest';
import { runStatuses } from '../../lib/engine/log/head.ts';
import { type RunEvents, includesStatus, isPublished, runEventLevels } from '../../lib/engine/run-events.ts';
import { bundleCreation, creation, freshRun } from '../contract/samples.ts';

const published: Readonly<Record<RunEvents, readonly string[]>> = {
  none: [],
  failed: ['failed'],
  ended: ['completed', 'failed', 'cancelled'],
  all: ['running', 'completed', 'failed', 'cancelled'],
};

describe.each(runEventLevels)('with the setting %s', (level) => {
  test('the bus gets these statuses of a run of any kind, and no other', () => {
    for (const run of [creation(freshRun()), bundleCreation(freshRun())])
      expect(runStatuses.filter((status) => isPublished(level, run, status))).toEqual(published[level]);
  });

  test('the bus gets no status of a test run', () => {
    const run = creation(freshRun(), { isTest: true });
    expect(runStatuses.filter((status) => isPublished(level, run, status))).toEqual([]);
  });
});

test('each level has the statuses of those before it', () => {
  runEventLevels.forEach((level, index) => {
    const before = runEventLevels[index - 1] ?? level;
    expect(runStatuses.filter((status) => includesStatus(before, status) && !includesStatus(level, status))).toEqual([]);
  });
});
