/**
 * The time that calls take on AWS, drawn from lognormal distributions. The medians are assumptions about one region, not measurements.
 * A generator with a fixed seed for each kind of call makes the draws of two benches equal.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { CallDelay } from '../lib/local/recorder.ts';
import { createSeededRandom } from '../lib/program/seeded-random.ts';

/** standard deviation of the logarithm, for all kinds of calls */
const sigma = 0.4;

/** Medians in milliseconds. */
export const delayMedians = {
  'DynamoDB put, update, delete, transaction': 6,
  'DynamoDB get, query, batch': 5,
  'SQS send, delete, change of visibility': 8,
  'from an SQS send to the receipt by the event source': 25,
  'S3 get, put': 25,
  'Lambda invocation of a warm function': 10,
} as const;
type Kind = keyof typeof delayMedians;

const writes: ReadonlySet<string> = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems']);

/** Undefined: the bench does not know the call's time, and no measured path waits for it. */
function kindOf(service: string, operation: string): Kind | undefined {
  switch (service) {
    case 'dynamodb':
      return writes.has(operation) ? 'DynamoDB put, update, delete, transaction' : 'DynamoDB get, query, batch';
    case 'sqs':
      return operation === 'receipt'
        ? 'from an SQS send to the receipt by the event source'
        : 'SQS send, delete, change of visibility';
    case 's3':
      return 'S3 get, put';
    case 'lambda':
      // Each invocation is one, by the API, an event source or a function. The call `Invoke` of a function contains it.
      return operation === 'Invocation' ? 'Lambda invocation of a warm function' : undefined;
    default:
      return undefined;
  }
}

/** Box–Muller: a number of the standard normal distribution from two uniform ones. */
const normal = (random: () => number): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Draws of one kind, in their order. */
export function createDraws(seed: string, median: number): () => number {
  const generator = createSeededRandom(seed);
  return () => median * Math.exp(sigma * normal(() => generator.random()));
}

export function createAwsDelay(seed: string): CallDelay {
  const draws = new Map(Object.entries(delayMedians).map(([kind, median]) => [kind, createDraws(`${seed} ${kind}`, median)]));
  return async (service, operation) => {
    const draw = draws.get(kindOf(service, operation) ?? '');
    if (draw !== undefined) await wait(draw());
  };
}
