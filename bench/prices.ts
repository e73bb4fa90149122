/** The price of a bill, by the list prices of `lib/contract/prices.ts`. */
import { dollarsPerMillion } from '../lib/contract/prices.ts';
import { type Bill, total } from './bill.ts';

const perMillion = dollarsPerMillion satisfies Partial<Record<keyof Bill, number>>;

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

/** Dollars per million runs, without the execution time of functions. */
export const dollarsPerMillionRuns = (bill: Bill): readonly Dollars[] =>
  priced.map((kind) => ({ kind, count: total(bill[kind]), dollars: total(bill[kind]) * perMillion[kind] }));

/** Price of the functions' execution time, as measured on this machine. */
export const timeDollarsPerMillionRuns = (bill: Bill): number => total(bill.gbSeconds) * perMillion.gbSeconds;
