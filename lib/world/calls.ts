/** The calls that a World makes to Stepwell, by name. A transport carries them: HTTP for applications, a message port for deployed code. */
import type { TaggedValue } from './tagged-json.ts';

/** Calls that change nothing, or that a repetition does not change again. */
const repeatableMethods = [
  'events.list',
  'events.listByCorrelationId',
  'events.get',
  'runs.get',
  'runs.list',
  'steps.get',
  'steps.list',
  'hooks.get',
  'hooks.getByToken',
  'hooks.list',
  'streams.close',
  'streams.chunks',
  'streams.info',
  'streams.list',
  'uploads.create',
  'encryptionKey',
  // A publish has an idempotency key, from the caller or from the World.
  'queue.publish',
  'deploymentId',
  'apps.register',
] as const;

/** Calls whose repetition can have another result: the first attempt may have been committed before its answer was lost. */
const singleMethods = ['events.create', 'events.createBatch', 'streams.write'] as const;

export const worldMethods = [...repeatableMethods, ...singleMethods] as const;
export type WorldMethod = (typeof worldMethods)[number];

/** The body of a call. Undefined properties count as absent. */
export type CallBody = Readonly<Record<string, unknown>>;

/** Whether a second attempt is safe although the first may have been executed. */
export function isRepeatable(method: WorldMethod): boolean {
  return repeatableMethods.some((each) => each === method);
}

export interface Refusal {
  readonly kind: 'refused';
  /** HTTP status */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** in seconds */
  readonly retryAfter?: number;
}

export interface TransportFailure {
  readonly kind: 'failed';
  readonly reason: 'transport' | 'timeout';
  readonly message: string;
  readonly cause?: unknown;
  /** the call certainly did not reach the service */
  readonly isUnsent?: boolean;
}

export type CallResult = { readonly kind: 'answered'; readonly value: TaggedValue } | Refusal | TransportFailure;

export interface WorldTransport {
  /** @throws WorldError if the settings of this process are wrong; everything else is a result */
  call(method: WorldMethod, body: CallBody): Promise<CallResult>;
}
