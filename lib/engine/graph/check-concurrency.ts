/** How many runs of a workflow may be at work at once: whether the number is one that can be kept. */
import type { Finding } from './definition.ts';
import { mostPlaces } from '../places.ts';
import { finding, pointer } from './findings.ts';

export const checkConcurrency = (most: number | undefined): readonly Finding[] =>
  most === undefined || (Number.isInteger(most) && most >= 1 && most <= mostPlaces)
    ? []
    : [
        finding(
          'concurrency_invalid',
          pointer('options', 'maxConcurrentRuns'),
          `maxConcurrentRuns must be a whole number from 1 to ${mostPlaces}, and is ${most}`,
        ),
      ];
