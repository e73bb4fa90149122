/** Concurrency settings: the defaults, and the preset for small accounts. */
export const defaultConcurrency = {
  nodeConcurrency: 100,
  resultConcurrency: 10,
  codeConcurrency: 100,
  watchedRuns: 50,
  watchers: 50,
  requestsPerSecond: 1_000,
  requestBurst: 2_000,
} as const;

/** Lambda's minimum for the maximum concurrency of an SQS event source. */
export const minConcurrency = 2;

/**
 * For an account with a quota of 10 concurrent executions, as new accounts have. Every queue has Lambda's minimum, and
 * event streams leave room for the other functions. Work waits longer; SQS retries a throttled delivery.
 */
export const smallAccount = {
  nodeConcurrency: minConcurrency,
  resultConcurrency: minConcurrency,
  codeConcurrency: minConcurrency,
  watchedRuns: minConcurrency,
  watchers: minConcurrency,
} as const;

/** The number of dead-letter queues: one for FIFO queues, one for standard queues. Each has Lambda's minimum concurrency. */
export const deadLetterQueues = 2;
