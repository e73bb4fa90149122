/** How much a loop may be, and how much of it travels together. */
export const loopLimits = {
  items: 100_000,
  /** passes at a time */
  concurrency: 1_000,
  /** of all results together, as JSON: whoever reads them holds them in memory at once */
  resultsBytes: 16_777_216,
  /** loops in each other; each makes the names of what lies in it longer */
  depth: 5,
} as const;

/** A decision that has come to this many events begins no more passes; a wake goes on with them in the next commit. */
export const maxEventsPerDecision = 250;

/** Items and results lie together in pages of at least this many; there are never more than about a hundred pages. */
const minPageSize = 100;
const maxPages = 100;
export const pageSizeOf = (items: number): number => Math.max(minPageSize, Math.ceil(items / maxPages));

/** An item no longer than this, as JSON, travels with the event that begins its pass, and its page need not be loaded. */
export const maxInlineItemSize = 1_024;

/** Results that are this long together are put away, however few they are. */
export const maxPendingResultsSize = 65_536;
