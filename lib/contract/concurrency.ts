/** How many things happen at once: the defaults of the settings, and those of the preset for small accounts. */
export const defaultConcurrency = {
  nodeConcurrency: 100,
  resultConcurrency: 10,
  codeConcurrency: 100,
  watchedRuns: 50,
  watchers: 50,
  requestsPerSecond: 1_000,
  requestBurst: 2_000,
} as const;

/** The least that Lambda takes for the event source of a queue. */
export const minConcurrency = 2;

/**
 * For an account whose quota of concurrent executions is 10, as new ones have: every queue is worked at the least that Lambda
 * takes, and readers leave room for the rest. Work waits longer; a queue that cannot be worked at once is retried.
 */
export const smallAccount = {
  nodeConcurrency: minConcurrency,
  resultConcurrency: minConcurrency,
  codeConcurrency: minConcurrency,
  watchedRuns: minConcurrency,
  watchers: minConcurrency,
} as const;

/** One for FIFO queues and one for standard queues; each is consumed at the least. */
export const deadLetterQueues = 2;
