/**
 * AWS prices in dollars per million: list prices of us-east-1 in November 2026, without free tiers and discounts.
 * docs/BENCH.md names the source of each.
 */
export const dollarsPerMillion = {
  writeUnits: 0.625,
  readUnits: 0.125,
  /** FIFO. A standard queue costs 0.40; its few requests are counted at this price too. */
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
