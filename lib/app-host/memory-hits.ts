/** Counts the hits of this process, in one counter per second of the window. */
import { type Hit, type HitStore, recentMs } from './hit-store.ts';

const bucketMs = 1_000;
const bucketOf = (at: number): number => Math.floor(at / bucketMs);

/** A hit is recent for fifteen minutes, and up to a second longer. */
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
