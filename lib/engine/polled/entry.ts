/** A commit of such a run: one fact, and what the others need to know of it. */
import type { Nonce } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { Instant } from '../time.ts';
import type { StepAttemptId } from './ids.ts';
import type { ErrorRecord, PolledRun, RunLink, StepAttemptContext, StepKind } from './run.ts';

export interface PolledEntry {
  /** 1, 2, 3 … without a gap */
  readonly number: number;
  /** says whose put it was */
  readonly nonce: Nonce;
  readonly at: Instant;
  readonly fact: PolledFact;
}

export type PolledCreation = Pick<
  PolledRun,
  'workflowName' | 'version' | 'idempotencyKey' | 'config' | 'context' | 'input' | 'parent' | 'deadlineAt'
> & { readonly availableAt: Instant };

export type PolledFact =
  | ({ readonly type: 'created' } & PolledCreation)
  | { readonly type: 'claimed'; readonly workerId: string; readonly leaseUntil: Instant }
  | { readonly type: 'lease-extended'; readonly leaseUntil: Instant }
  | { readonly type: 'parked'; readonly availableAt: Instant }
  | { readonly type: 'completed'; readonly output: JsonValue }
  | { readonly type: 'failed'; readonly error: ErrorRecord }
  /** its deadline has passed */
  | { readonly type: 'expired' }
  | { readonly type: 'rescheduled'; readonly error: ErrorRecord; readonly availableAt: Instant }
  | { readonly type: 'cancelled' }
  | {
      readonly type: 'step-begun';
      readonly stepName: string;
      readonly kind: StepKind;
      readonly config: JsonValue;
      readonly context: StepAttemptContext | null;
    }
  | { readonly type: 'step-completed'; readonly stepAttemptId: StepAttemptId; readonly output: JsonValue }
  | { readonly type: 'step-failed'; readonly stepAttemptId: StepAttemptId; readonly error: ErrorRecord }
  | { readonly type: 'child-linked'; readonly stepAttemptId: StepAttemptId; readonly child: RunLink }
  /** a run that a step had started has ended; it may be linked only later */
  | { readonly type: 'child-ended'; readonly stepAttemptId: StepAttemptId; readonly child: RunLink }
  | {
      readonly type: 'signal-delivered';
      readonly waits: readonly StepAttemptId[];
      readonly data: JsonValue;
      readonly sending: string;
    };
