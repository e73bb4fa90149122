/**
 * The protocol between the author's code and the process that writes its log. A command batch contains the results that the code
 * received in one turn of the event loop and the commands it issued next, in that order. It is one commit, or several if it is too
 * large for one (`split-command-batch.ts`).
 */
import type { Attempt, CommitNo, RunId } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { RunOutcome, Failure } from '../log/events.ts';
import type { DurationMs, Instant } from '../time.ts';
import type { StepKind, StepRetry } from './step.ts';

/** A command of the author's code. The program module assigns the key. */
export type Command =
  | { readonly kind: 'function'; readonly key: string; readonly retry?: StepRetry; readonly hasRollback?: true }
  | { readonly kind: 'rollback'; readonly key: string; readonly retry?: StepRetry }
  | {
      readonly kind: 'signal-send';
      readonly key: string;
      readonly signal: string;
      readonly correlation: string;
      readonly data: JsonValue;
    }
  | { readonly kind: 'sleep'; readonly key: string; readonly wakeAt: Instant }
  | {
      readonly kind: 'signal-wait';
      readonly key: string;
      readonly signal: string;
      readonly correlation: string;
      /** when the wait ends without a signal, with the result null */
      readonly expiresAt?: Instant;
    }
  | {
      readonly kind: 'workflow';
      readonly key: string;
      readonly workflowName: string;
      readonly input: JsonValue;
      /** when the wait ends: the step fails, and the called run continues */
      readonly expiresAt?: Instant;
    };

interface StepAttemptKey {
  readonly key: string;
  readonly attempt: Attempt;
}

/** When the step function ran, and what it printed. */
interface StepExecution {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed?: readonly string[];
}

export type CommandBatchEntry =
  /** a function step begins when this is committed; a wait begins with the commit */
  | { readonly kind: 'scheduled'; readonly command: Command }
  | (StepAttemptKey & StepExecution & { readonly kind: 'completed'; readonly output: JsonValue })
  /** the attempt failed and is retried without informing the code; the next attempt begins at `retryAt` or later */
  | (StepAttemptKey &
      StepExecution & {
        readonly kind: 'retried';
        readonly failure: Failure;
        readonly delayMs: DurationMs;
        readonly retryAt: Instant;
      })
  /** the step failed finally, and the code receives the failure */
  | (StepAttemptKey & StepExecution & { readonly kind: 'failed'; readonly failure: Failure })
  /** the code returned, and no step function is running */
  | { readonly kind: 'returned'; readonly output: JsonValue }
  /** with `nextAttempt`, the workflow's own retry policy runs the code again; results of completed steps stand */
  | {
      readonly kind: 'threw';
      readonly failure: Failure;
      readonly nextAttempt?: { readonly delayMs: DurationMs; readonly retryAt: Instant };
    }
  /** every rollback was tried; `failures` are those that did not succeed */
  | { readonly kind: 'rolled-back'; readonly failures: readonly { readonly key: string; readonly failure: Failure }[] };

export interface CommandBatch {
  readonly entries: readonly CommandBatchEntry[];
  /**
   * `running`: a step function is running or begins now. `suspended`: nothing to do until a wait ends or `wakeAt` passes.
   * `yielded`: the task's time is used up, and the next task continues at once.
   */
  readonly next: 'running' | 'suspended' | 'yielded';
  /** of a suspended task: the earliest retry of a step */
  readonly wakeAt?: Instant;
  /**
   * Newer histories that the task had received when it made this batch. A host that has sent more than these answers `overtaken`,
   * because the batch was made without knowing the latest commits.
   */
  readonly historiesReceived?: number;
}

export type StepResult<Value> =
  | { readonly status: 'completed'; readonly output: Value; readonly endedAt: Instant }
  | { readonly status: 'failed'; readonly failure: Failure; readonly endedAt: Instant };

/** The log in its order; a replay must issue the same commands in the same order. */
export type HistoryEntry<Value> =
  | {
      readonly kind: 'scheduled';
      readonly key: string;
      readonly step: StepKind;
      /** name of the called workflow, or of the signal */
      readonly target?: string;
    }
  | { readonly kind: 'settled'; readonly key: string; readonly result: StepResult<Value> };

/** A function, rollback or signal-send step that has not ended. */
export interface OpenStep {
  readonly key: string;
  readonly attempt: Attempt;
  /** the commit that dispatched this attempt */
  readonly dispatchCommit: CommitNo;
  /** attempts lost with their worker; retry policies do not count them */
  readonly lostAttempts: number;
  /** absent: the attempt may have begun in another process, with an unknown outcome */
  readonly retryAt?: Instant;
}

export interface History<Value> {
  /** of this attempt of the workflow */
  readonly entries: readonly HistoryEntry<Value>[];
  /** steps completed in earlier attempts of the workflow; the code receives these results at once */
  readonly priorResults: readonly {
    readonly key: string;
    readonly step: StepKind;
    readonly output: Value;
    readonly endedAt: Instant;
  }[];
  readonly open: readonly OpenStep[];
  /** 1 for the first attempt of the workflow */
  readonly attempt: Attempt;
  /** attempts of all steps so far, for their limit */
  readonly stepAttempts: number;
  /** set during a rollback: completed steps are rolled back, the last one first */
  readonly runOutcome?: RunOutcome;
}

export type CommandBatchResult =
  | { readonly kind: 'committed'; readonly commit: CommitNo; readonly run: 'open' | 'rolling_back' | 'ended' }
  /**
   * Another commit came first: nothing of the batch was committed, or only its first entries if it was split. Results that are still
   * open in the history are kept, and the code is replayed on it.
   */
  | { readonly kind: 'overtaken'; readonly history: History<JsonValue> }
  /** the run has ended, or another workflow task has replaced this one */
  | { readonly kind: 'stop' };

/** Properties of the run that the code can read. */
export interface RunFacts {
  readonly runId: RunId;
  readonly workflowName: string;
  readonly version: string | null;
  readonly createdAt: Instant;
  readonly deadlineAt: Instant;
}

/**
 * Version of the replay rules. A run records this number in its first commit and is always replayed by the same rules. A change of the
 * order in which code sees results, of step keys, or of what the code receives needs the next number. The older rules stay as long as
 * runs of them exist. test/histories contains recorded histories of each version.
 */
export const replayVersion = 1;

/** System key of the version in a run's first commit. */
export const replayVersionKey = '__replayVersion';
