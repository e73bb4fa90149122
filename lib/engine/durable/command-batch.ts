/**
 * What passes between the author's code and whoever writes the log for it. A turn is what one turn of the event loop came to:
 * results that the code was given, and what it asked for next, in the order in which that took place. It is one commit, or where
 * it is too large for one, several (`turn-parts.ts`).
 */
import type { Attempt, CommitNo, RunId } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { RunOutcome, Failure } from '../log/events.ts';
import type { DurationMs, Instant } from '../time.ts';
import type { StepKind, StepRetry } from './step.ts';

/** What the code asks for. Whoever drives it gives each its key. */
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
      /** when the wait is over without a signal: the answer is null then */
      readonly expiresAt?: Instant;
    }
  | {
      readonly kind: 'workflow';
      readonly key: string;
      readonly workflowName: string;
      readonly input: JsonValue;
      /** when nobody waits for it any more: the step fails, and the run that was called goes on */
      readonly expiresAt?: Instant;
    };

interface StepAttemptKey {
  readonly key: string;
  readonly attempt: Attempt;
}

/** When the body of a step was at work, and what it printed. */
interface StepExecution {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly printed?: readonly string[];
}

export type CommandBatchEntry =
  /** the body of a function begins when this is committed; a wait begins with the commit */
  | { readonly kind: 'scheduled'; readonly command: Command }
  | (StepAttemptKey & StepExecution & { readonly kind: 'completed'; readonly output: JsonValue })
  /** it failed, and is tried again: the code does not hear of it. The next attempt may begin at `retryAt`. */
  | (StepAttemptKey &
      StepExecution & {
        readonly kind: 'retried';
        readonly failure: Failure;
        readonly delayMs: DurationMs;
        readonly retryAt: Instant;
      })
  /** it failed for good, and the code is told so */
  | (StepAttemptKey & StepExecution & { readonly kind: 'failed'; readonly failure: Failure })
  /** the code ended, and no body is at work any more */
  | { readonly kind: 'returned'; readonly output: JsonValue }
  /** `again`: by the workflow's own policy it is run once more, and keeps what its steps have done */
  | {
      readonly kind: 'threw';
      readonly failure: Failure;
      readonly nextAttempt?: { readonly delayMs: DurationMs; readonly retryAt: Instant };
    }
  /** everything that was to be undone has been tried; `failures` are those that could not be */
  | { readonly kind: 'rolled-back'; readonly failures: readonly { readonly key: string; readonly failure: Failure }[] };

export interface CommandBatch {
  readonly entries: readonly CommandBatchEntry[];
  /**
   * `waiting`: a body is at work, or begins now. `rests`: nothing is left to do until a wait ends, or `wakeAt` comes.
   * `yielded`: its time is over, and the next drive goes on at once.
   */
  readonly next: 'running' | 'suspended' | 'yielded';
  /** of one that rests: the earliest time at which a step is to be tried again */
  readonly wakeAt?: Instant;
  /**
   * How often the drive had been overtaken (`Drive.overtake`) when it made this turn. Both travel: a host that has told of more
   * by now answers `overtaken`, because the code does not know yet what was committed before.
   */
  readonly historiesReceived?: number;
}

export type StepResult<Value> =
  | { readonly status: 'completed'; readonly output: Value; readonly endedAt: Instant }
  | { readonly status: 'failed'; readonly failure: Failure; readonly endedAt: Instant };

/** What the log says, in its order: the code has to ask for the same in the same order. */
export type HistoryEntry<Value> =
  | {
      readonly kind: 'scheduled';
      readonly key: string;
      readonly step: StepKind;
      /** of a workflow its name, of a signal its name */
      readonly target?: string;
    }
  | { readonly kind: 'settled'; readonly key: string; readonly result: StepResult<Value> };

/** A function, a rollback or a sending that was asked for and has not ended. */
export interface OpenStep {
  readonly key: string;
  readonly attempt: Attempt;
  /** the commit that asked for this attempt */
  readonly dispatchCommit: CommitNo;
  /** tries of it that were lost with whoever was at work on them: nobody's failures */
  readonly lostAttempts: number;
  /** absent: it may have begun, and whoever did not begin it does not know what became of it */
  readonly retryAt?: Instant;
}

export interface History<Value> {
  /** of this attempt of the workflow */
  readonly entries: readonly HistoryEntry<Value>[];
  /** steps that earlier attempts of the workflow have completed: whoever asks for one again is answered at once */
  readonly priorResults: readonly {
    readonly key: string;
    readonly step: StepKind;
    readonly output: Value;
    readonly endedAt: Instant;
  }[];
  readonly open: readonly OpenStep[];
  /** 1 for the first attempt of the workflow */
  readonly attempt: Attempt;
  /** all attempts of all steps so far, for the limit of them */
  readonly stepAttempts: number;
  /** the code is over: what was done and has a rollback is undone, the last one first */
  readonly runOutcome?: RunOutcome;
}

export type CommandBatchResult =
  /** `news`: what others had committed is not in it; they are told apart (`overtaken`) */
  | { readonly kind: 'committed'; readonly commit: CommitNo; readonly run: 'open' | 'rolling_back' | 'ended' }
  /**
   * somebody else's commit came first: the turn did not happen, or only its first entries, where it was too large for one commit.
   * Results in hand that the history has still open are kept, and the code is replayed on it
   */
  | { readonly kind: 'overtaken'; readonly history: History<JsonValue> }
  /** the run has ended, or another drive has it */
  | { readonly kind: 'stop' };

/** What the code may know of its run. */
export interface RunFacts {
  readonly runId: RunId;
  readonly workflowName: string;
  readonly version: string | null;
  readonly createdAt: Instant;
  readonly deadlineAt: Instant;
}
