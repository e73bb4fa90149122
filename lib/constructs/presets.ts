import type { StepwellProps } from './stepwell.ts';

/**
 * For an account whose quota of concurrent executions is 10, as new ones have: every queue is worked at the least that Lambda
 * takes for a mapping, and readers leave room for the rest. Work waits longer; a queue that cannot be worked at once is retried.
 */
export const smallAccount = {
  nodeConcurrency: 2,
  resultConcurrency: 2,
  codeConcurrency: 2,
  watchedRuns: 2,
  watchers: 2,
} as const satisfies StepwellProps;
