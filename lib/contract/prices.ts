/**
 * What AWS asks, in dollars for a million: list prices of us-east-1 in November 2026, without free tiers and discounts.
 * docs/BENCH.md says where each comes from.
 */
export const dollarsPerMillion = {
  writeUnits: 0.625,
  readUnits: 0.125,
  /** FIFO; a standard queue is 0.40, and the few of its requests are counted at this price too */
  queueRequests: 0.5,
  invocations: 0.2,
  /** on arm64 */
  gbSeconds: 13.3334,
  /** REST */
  apiRequests: 3.5,
  busEvents: 1,
  schedules: 1,
  objects: 5,
} as const;
