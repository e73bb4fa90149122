/** Where unexpected hits are counted. Counts of one process say nothing about many: where there are many, share a store. */

/** Of a request nothing is kept that its sender could use to hide something in: no body, and of headers only known names. */
export interface Hit {
  /** of the epoch, in milliseconds */
  readonly at: number;
  readonly path: string;
  /** the names of the marker headers that it had */
  readonly markerHeaders: readonly string[];
  /** its body had a text `runId` or `workflowRunId`; informative, for anybody can write one */
  readonly bodyShapeMatched: boolean;
}

export interface HitCounts {
  readonly lifetime: number;
  /** in the last fifteen minutes */
  readonly recent: number;
  /** the latest by its time */
  readonly last: Hit | null;
}

export const recentMs = 15 * 60_000;

/**
 * The port. What `record` has answered to is in every later answer of `counts`, whichever process asks.
 * A hit counts as recent for at least `recentMs`, and for at most a minute longer, so that a table may count by minutes.
 * `lifetime` never goes down. Either may throw: what the app answers does not depend on it.
 */
export interface HitStore {
  record(hit: Hit): Promise<void>;
  /** @param now of the epoch, in milliseconds */
  counts(now: number): Promise<HitCounts>;
}
