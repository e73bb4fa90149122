/** What the log of a run comes to that another library's workers poll for: the run, its step attempts, what they wait for. */
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
  /** who has it in hand; null: nobody */
  readonly workerId: string | null;
  /** when it may be claimed: while somebody has it in hand, the end of the lease; null: it has ended */
  readonly availableAt: Instant | null;
  readonly deadlineAt: Instant | null;
  readonly startedAt: Instant | null;
  readonly finishedAt: Instant | null;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** An error as the library writes it: `name`, `stack` and others besides. */
export interface ErrorRecord {
  readonly message: string;
  readonly [key: string]: JsonValue;
}

/** Times are ISO texts, as the library writes them: nothing here reads them. */
export type StepAttemptContext =
  | { readonly kind: 'sleep'; readonly resumeAt: string }
  | { readonly kind: 'workflow'; readonly timeoutAt: string | null }
  | { readonly kind: 'signal-wait'; readonly signal: string; readonly timeoutAt: string };

/** Other namespaces may be named: the id is what a caller gave. */
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

/** A signal that reached a wait. */
export interface Delivery {
  readonly data: JsonValue;
  /** tells one sending from another */
  readonly sendId: string;
}

export const hasEnded = ({ status }: Pick<ExternalRun, 'status'>): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** A run without a deadline has this one, so that none outlives its records. */
const maxLifetime = days(400);
/** Records are kept so long after the run's end. */
const recordRetention: DurationMs = days(30);

type Lifetime = Pick<ExternalRun, 'createdAt' | 'deadlineAt'>;
export const endOfLife = ({ createdAt, deadlineAt }: Lifetime): Instant => deadlineAt ?? after(createdAt, maxLifetime);
/** A run whose deadline had passed when it was created ends with the next poll, and is kept as long as any other. */
export const retainUntil = (run: Lifetime): Instant =>
  after(after(instant(Math.max(run.createdAt, endOfLife(run))), latestEndAfterDeadline), recordRetention);
