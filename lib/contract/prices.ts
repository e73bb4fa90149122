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
  /** HTTP API, up to 512 KB */
  startApiRequests: 1,
  busEvents: 1,
  schedules: 1,
  /** S3: requests that store, copy or list */
  objects: 5,
  /** S3: GET */
  objectReads: 0.4,
} as const;

type PricedKind = keyof typeof dollarsPerMillion;

export interface PricedPart<Kind extends PricedKind> {
  readonly kind: Kind;
  readonly count: number;
  readonly dollars: number;
}

/** The price of each count, without the kinds of which there are none. */
export function pricedParts<Kind extends PricedKind>(counts: Readonly<Record<Kind, number>>): readonly PricedPart<Kind>[] {
  const parts: PricedPart<Kind>[] = [];
  for (const kind in counts) {
    const count = counts[kind];
    if (count > 0) parts.push({ kind, count, dollars: (count * dollarsPerMillion[kind]) / 1_000_000 });
  }
  return parts;
}
