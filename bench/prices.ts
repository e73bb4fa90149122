/** The price of a bill, by the list prices of `lib/contract/prices.ts`. */
import { startApiRoutes } from '../lib/api/start-api.ts';
import { dollarsPerMillion } from '../lib/contract/prices.ts';
import { type Bill, total } from './bill.ts';

const priced = [
  'writeUnits',
  'readUnits',
  'queueRequests',
  'invocations',
  'apiRequests',
  'startApiRequests',
  'busEvents',
  'schedules',
  'objects',
] as const satisfies readonly (keyof Bill)[];
type Priced = (typeof priced)[number];

export interface Dollars {
  readonly kind: Priced;
  readonly count: number;
  readonly dollars: number;
}

/** Dollars per million runs, without the execution time of functions. */
export const dollarsPerMillionRuns = (bill: Bill): readonly Dollars[] =>
  priced.map((kind) => ({
    kind,
    count: total(bill[kind]),
    dollars: kind === 'objects' ? dollarsOfObjects(bill.objects) : total(bill[kind]) * dollarsPerMillion[kind],
  }));

/** A read of an object costs less than a request that stores one. */
const dollarsOfObjects = ({ GetObject = 0, ...others }: Bill['objects']): number =>
  GetObject * dollarsPerMillion.objectReads + total(others) * dollarsPerMillion.objects;

/** Price of the functions' execution time, as measured on this machine. */
export const timeDollarsPerMillionRuns = (bill: Bill): number => total(bill.gbSeconds) * dollarsPerMillion.gbSeconds;

const startPaths = startApiRoutes.map(({ method, path }) => `${method} ${path}`.split('/'));

/** The REST API names a request by its resource, in which a parameter may stand for a segment of a route: `batch` of `/v1/runs/{runId}`. */
const isStartRequest = (operation: string): boolean => {
  const resource = operation.split('/');
  return startPaths.some(
    (path) => path.length === resource.length && resource.every((part, at) => part === path[at] || /^\{[^+]+\}$/.test(part)),
  );
};

/**
 * The same bill where programs send starts, signals and reads of a run to the start API. The function does the same for both fronts, and
 * no body of a scenario exceeds the 512 KB of one billed request.
 */
export function throughStartApi(bill: Bill): Bill {
  const requests = Object.entries(bill.apiRequests);
  const isMoved = ([operation]: (typeof requests)[number]): boolean => isStartRequest(operation);
  return {
    ...bill,
    apiRequests: Object.fromEntries(requests.filter((one) => !isMoved(one))),
    startApiRequests: { ...bill.startApiRequests, ...Object.fromEntries(requests.filter(isMoved)) },
  };
}
