/**
 * What AWS asks, in dollars for a million: list prices of us-east-1 in November 2026, without free tiers and discounts.
 * docs/BENCH.md says where each comes from.
 */
import { type Bill, total } from './bill.ts';

const perMillion = {
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
} as const satisfies Partial<Record<keyof Bill, number>>;

type Priced = keyof typeof perMillion;
const priced = [
  'writeUnits',
  'readUnits',
  'queueRequests',
  'invocations',
  'apiRequests',
  'busEvents',
  'schedules',
  'objects',
] as const;

export interface Dollars {
  readonly kind: Priced;
  readonly count: number;
  readonly dollars: number;
}

/** Dollars per million runs of this bill by what is counted, without the time that functions run. */
export const dollarsPerMillionRuns = (bill: Bill): readonly Dollars[] =>
  priced.map((kind) => ({ kind, count: total(bill[kind]), dollars: total(bill[kind]) * perMillion[kind] }));

/** The time of functions, as long as they ran on this machine. */
export const timeDollarsPerMillionRuns = (bill: Bill): number => total(bill.gbSeconds) * perMillion.gbSeconds;
