/** The state of an external-worker run: the run, its step attempts, and the signals and children they wait for. */
import type { RunId } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { JsonValue } from '../json.ts';
import { latestEndAfterDeadline } from '../log/head.ts';
import { type DurationMs, type Instant, after, days, instant } from '../time.ts';

export type ExternalStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
export const externalStatuses = [
  'pending',
  'running',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly ExternalStatus[];

export interface ExternalRun {
  readonly id: ExternalRunId;
  readonly workflowName: string;
  readonly version: string | null;
  readonly status: ExternalStatus;
  readonly idempotencyKey: string | null;
  readonly config: JsonValue;
  readonly context: JsonValue;
  readonly input: JsonValue;
  readonly output: JsonValue;
  readonly error: ErrorRecord | null;
  /** claims so far */
  readonly attempts: number;
  readonly parent: StepLink | null;
  /** the worker that holds the lease; null: none */
  readonly workerId: string | null;
  /** when a worker may claim it, or the end of the current lease; null: the run has ended */
  readonly availableAt: Instant | null;
  readonly deadlineAt: Instant | null;
  readonly startedAt: Instant | null;
  readonly finishedAt: Instant | null;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** An error in the library's format, with `name`, `stack` and other fields. */
export interface ErrorRecord {
  readonly message: string;
  readonly [key: string]: JsonValue;
}

/** Times are ISO texts in the library's format; the engine does not interpret them. */
export type StepAttemptContext =
  | { readonly kind: 'sleep'; readonly resumeAt: string }
  | { readonly kind: 'workflow'; readonly timeoutAt: string | null }
  | { readonly kind: 'signal-wait'; readonly signal: string; readonly timeoutAt: string };

/** May name another namespace; the id is the caller's. */
interface StepLink {
  readonly namespaceId: string;
  readonly stepAttemptId: string;
}

export interface RunLink {
  readonly namespaceId: string;
  readonly runId: string;
}

export const stepKinds = ['function', 'sleep', 'workflow', 'signal-send', 'signal-wait'] as const;
export type StepKind = (typeof stepKinds)[number];

export interface StepAttempt {
  readonly id: StepAttemptId;
  readonly stepName: string;
  readonly kind: StepKind;
  readonly status: 'running' | 'completed' | 'failed';
  readonly config: JsonValue;
  readonly context: StepAttemptContext | null;
  readonly output: JsonValue;
  readonly error: ErrorRecord | null;
  readonly child: RunLink | null;
  readonly startedAt: Instant;
  readonly finishedAt: Instant | null;
  readonly updatedAt: Instant;
}

/** A signal that was delivered to a wait. */
export interface Delivery {
  readonly data: JsonValue;
  /** identifies the send request */
  readonly sendId: string;
}

export const hasEnded = ({ status }: Pick<ExternalRun, 'status'>): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Lifetime of a run without a deadline, so that no run outlives its records. */
const maxLifetime = days(400);
/** Records are stored this long after the run's end. */
const recordRetention: DurationMs = days(30);

type Lifetime = Pick<ExternalRun, 'createdAt' | 'deadlineAt'>;
export const endOfLife = ({ createdAt, deadlineAt }: Lifetime): Instant => deadlineAt ?? after(createdAt, maxLifetime);
/** A run that is created after its deadline ends with the next poll, and is stored as long as any other. */
export const retainUntil = (run: Lifetime): Instant =>
  after(after(instant(Math.max(run.createdAt, endOfLife(run))), latestEndAfterDeadline), recordRetention);

/**
 * Ids of external-worker runs and their step attempts: UUIDs of version 8. The last 24 bits of a run id are 0; a step attempt has its
 * run's id with the number of the fact that began it in these bits. So a step attempt id names its run, and no index is needed.
 */
declare const brand: unique symbol;
export type ExternalRunId = string & { readonly [brand]: 'ExternalRunId' };
export type StepAttemptId = string & { readonly [brand]: 'StepAttemptId' };

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const numberDigits = 6;
const runSuffix = '0'.repeat(numberDigits);
/** The number has 24 bits. */
const maxFacts = 0xff_ff_ff;

const idPrefix = (id: string): string => id.slice(0, -numberDigits);

/** @param uuid a random UUID; the id keeps 98 bits of it */
export const externalRunId = (uuid: string): ExternalRunId => {
  const id = `${uuid.slice(0, 14)}8${uuid.slice(15, -numberDigits)}${runSuffix}`;
  invariant(shape.test(id), `not a UUID: ${JSON.stringify(uuid)}`);
  return id as ExternalRunId;
};

export const externalRunIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{6}0{6}$/;

/** Undefined if the text cannot be a run id, so no such run exists. */
export const parseExternalRunId = (text: string): ExternalRunId | undefined =>
  externalRunIdPattern.test(text) ? (text as ExternalRunId) : undefined;

export type AnyRunId = RunId | ExternalRunId;

/** Whether the id of a run is that of an external-worker run. Other run ids have a prefix. */
export const isExternalRunId = (id: AnyRunId): id is ExternalRunId => parseExternalRunId(id) !== undefined;

export const stepAttemptId = (run: ExternalRunId, fact: number): StepAttemptId => {
  invariant(fact >= 1 && fact <= maxFacts, `fact number ${fact} is out of range for a step attempt`);
  return `${idPrefix(run)}${fact.toString(16).padStart(numberDigits, '0')}` as StepAttemptId;
};

export const parseStepAttemptId = (text: string): StepAttemptId | undefined =>
  shape.test(text) && !text.endsWith(runSuffix) ? (text as StepAttemptId) : undefined;

/** The run of a step attempt; undefined if the text is not a step attempt id. */
export const runOfStep = (id: string): ExternalRunId | undefined =>
  shape.test(id) && !id.endsWith(runSuffix) ? (`${idPrefix(id)}${runSuffix}` as ExternalRunId) : undefined;
