/** The store of unexpected hits. The default one counts one process; use a shared store for several processes. */

/** A recorded request. It contains nothing that its sender chooses freely: no body, and only known header names. */
export interface Hit {
  /** epoch milliseconds */
  readonly at: number;
  readonly path: string;
  /** the names of its marker headers */
  readonly markerHeaders: readonly string[];
  /** its body had a text `runId` or `workflowRunId`; informative, because any caller can send one */
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
 * The port. A hit that `record` has accepted is in every later result of `counts`, in every process. A hit is recent for at least
 * `recentMs` and at most a minute longer, so that a table may count by minutes. `lifetime` never decreases. Both methods may
 * throw: the application's responses do not depend on them.
 */
export interface HitStore {
  record(hit: Hit): Promise<void>;
  /** @param now epoch milliseconds */
  counts(now: number): Promise<HitCounts>;
}

const bucketMs = 1_000;
const bucketOf = (at: number): number => Math.floor(at / bucketMs);

/** Counts the hits of this process, in one counter per second. A hit is recent for fifteen minutes, and up to a second longer. */
export const memoryHits = (): HitStore => {
  const buckets = new Map<number, number>();
  let lifetime = 0;
  let last: Hit | null = null;
  const forget = (now: number): void => {
    const first = bucketOf(now - recentMs);
    for (const bucket of buckets.keys()) if (bucket < first) buckets.delete(bucket);
  };
  return {
    record: (hit) => {
      forget(hit.at);
      buckets.set(bucketOf(hit.at), (buckets.get(bucketOf(hit.at)) ?? 0) + 1);
      lifetime += 1;
      if (last === null || hit.at >= last.at) last = hit;
      return Promise.resolve();
    },
    counts: (now) => {
      forget(now);
      const recent = [...buckets.values()].reduce((sum, count) => sum + count, 0);
      return Promise.resolve({ lifetime, recent, last });
    },
  };
};
