/** The state of an external-worker run: the run, its step attempts, and the signals and children they wait for. */
import type { JsonValue } from '../json.ts';
import { type DurationMs, type Instant, after, days, instant } from '../time.ts';
import { latestEndAfterDeadline } from '../log/expiry.ts';
import type { ExternalRunId, StepAttemptId } from './ids.ts';

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
