/** Checks the declared limit of concurrent runs. */
import type { Finding } from './definition.ts';
import { maxSlots } from '../concurrency-slots.ts';
import { finding, jsonPointer } from './findings.ts';

export const checkConcurrency = (maxConcurrentRuns: number | undefined): readonly Finding[] =>
  maxConcurrentRuns === undefined ||
  (Number.isInteger(maxConcurrentRuns) && maxConcurrentRuns >= 1 && maxConcurrentRuns <= maxSlots)
    ? []
    : [
        finding(
          'concurrency_invalid',
          jsonPointer('options', 'maxConcurrentRuns'),
          `maxConcurrentRuns must be a whole number from 1 to ${maxSlots}; it is ${maxConcurrentRuns}`,
        ),
      ];
