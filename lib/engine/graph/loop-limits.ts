/** Limits of loops, and the page sizes of their items and results. */
export const loopLimits = {
  items: 100_000,
  /** iterations at a time */
  concurrency: 1_000,
  /** all results together, as JSON: readers hold them in memory at once */
  resultsBytes: 16_777_216,
  /** nested loops; each level makes the iteration keys inside it longer */
  depth: 5,
} as const;

/** A decision with this many events begins no more iterations; a wake-up continues in the next commit. */
export const maxEventsPerDecision = 250;

/** Minimum entries per page of items or results; there are never more than about a hundred pages. */
const minPageSize = 100;
const maxPages = 100;
export const pageSizeOf = (items: number): number => Math.max(minPageSize, Math.ceil(items / maxPages));

/** Maximum length as JSON of an item that its start event carries, so that its page need not be loaded. */
export const maxInlineItemSize = 1_024;

/** Pending results of this total size are stored, however few they are. */
export const maxPendingResultsSize = 65_536;
