/**
 * Runs the author's code of a code run: replays it on the history, runs step functions, and hands each command batch to
 * the host. It writes nothing: the host commits a batch and returns the result. A workflow task lasts from its message
 * until the code waits.
 */
import type {
  History,
  RunFacts,
  StepResult,
  Command,
  CommandBatch,
  CommandBatchResult,
} from '../engine/durable/command-batch.ts';
import type { Attempt, Scope } from '../engine/ids.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { Manifest } from './deployments.ts';

export interface WorkflowTask {
  readonly run: RunFacts;
  /** the replay rules (`engine/durable/replay-version.ts`), pinned at the run's start */
  readonly replayVersion: number;
  readonly input: JsonValue;
  readonly history: History<JsonValue>;
  /** After this time no step function starts, and the task hands off to the next task. */
  readonly handOffAt: Instant;
  /** A worker or a thread may have crashed at an earlier try. Each step is committed before it starts, so that the log names a crashing step. */
  readonly shouldCommitBeforeSteps?: true;
}

/** The host of a workflow task, which writes the run log. */
export interface WorkflowTaskHost {
  /** Commits a command batch. The program sends one at a time. */
  commitBatch(batch: CommandBatch): Promise<CommandBatchResult>;
  /** Performs a built-in step (`signal-send`). Idempotent. */
  perform(command: Extract<Command, { kind: 'signal-send' }>): Promise<StepResult<JsonValue>>;
}

export type WorkflowTaskEnd =
  /** the host's last result ended the task: the code waits, handed off or was stopped, or the run has ended */
  | { readonly kind: 'finished' }
  /** the code crashed its thread or had to be killed; `running` are the step functions that were executing */
  | {
      readonly kind: 'crashed' | 'timed_out';
      readonly message: string;
      readonly running: readonly { readonly key: string; readonly attempt: Attempt }[];
    }
  /** the code's command differs from the recorded one; `details` has both, the step and the deployment */
  | { readonly kind: 'nondeterministic'; readonly message: string; readonly details: JsonObject }
  | { readonly kind: 'unloadable'; readonly message: string }
  /** the deployment has no workflow of this name and version */
  | { readonly kind: 'unknown_workflow'; readonly message: string };

export interface WorkflowTaskHandle {
  /** Never rejects. */
  readonly ended: Promise<WorkflowTaskEnd>;
  /** Another writer committed to the run: takes over its whole history. Running step functions continue. */
  replaceHistory(history: History<JsonValue>): void;
  /** The run has ended or is rolling back: aborts the signals of step functions and ignores their results. */
  cancel(reason: string): void;
  /** Hands off as at `handOffAt`: no step function starts, running ones complete, and the next task continues. */
  handOff(): void;
  /** Ends the task at once. Terminates its thread if necessary. */
  kill(message: string): Promise<void>;
}

export interface Programs {
  start(scope: Scope, manifest: Manifest, task: WorkflowTask, host: WorkflowTaskHost): WorkflowTaskHandle;
}

/** The module of a code artifact. It exports `workflows`, an array of results of `defineWorkflow`. */
export const programPath = 'workflows.mjs';
