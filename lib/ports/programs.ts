/**
 * Runs the author's code of a code run: replays it against the history, runs the bodies of its steps, and says what each
 * turn came to. It writes nothing: the host does, and answers. One drive is one go, from a message to the next rest.
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
  /** how replays behave (`engine/durable/replay-version.ts`): that of the run's start, for as long as it lives */
  readonly replayVersion: number;
  readonly input: JsonValue;
  readonly history: History<JsonValue>;
  /** no body begins after this, and the drive hands on */
  readonly handOffAt: Instant;
  /** a worker died at an earlier delivery: no step begins before its commit, so that the log names what may kill the next */
  readonly shouldCommitBeforeSteps?: true;
}

/** The side of whoever holds the log. */
export interface WorkflowTaskHost {
  /** Commits a turn. Asked for one at a time. */
  commitBatch(batch: CommandBatch): Promise<CommandBatchResult>;
  /** Does what a step of the service's own asks for (`signal-send`); twice is once. */
  perform(command: Extract<Command, { kind: 'signal-send' }>): Promise<StepResult<JsonValue>>;
}

export type WorkflowTaskEnd =
  /** the last answer said so: it rests, has handed on, was stopped, or the run has ended */
  | { readonly kind: 'finished' }
  /** the code broke its thread, or had to be ended; `running` were the bodies at work */
  | {
      readonly kind: 'crashed' | 'timed_out';
      readonly message: string;
      readonly running: readonly { readonly key: string; readonly attempt: Attempt }[];
    }
  /** the code asks for something else than it did: `details` names both, the step and the deployment */
  | { readonly kind: 'nondeterministic'; readonly message: string; readonly details: JsonObject }
  | { readonly kind: 'unloadable'; readonly message: string }
  /** whoever was asked has no workflow of this name and version */
  | { readonly kind: 'unknown_workflow'; readonly message: string };

export interface WorkflowTaskHandle {
  /** Never rejects. */
  readonly ended: Promise<WorkflowTaskEnd>;
  /** Somebody else has committed to the run: the whole history as it is now. What the drive has in hand, it keeps. */
  replaceHistory(history: History<JsonValue>): void;
  /** The run has ended or is to be undone: bodies are told by their signal, and what they come to is not asked for. */
  cancel(reason: string): void;
  /** As if the time to hand on had come: no body begins any more, those at work are awaited, and the next drive goes on. */
  handOff(): void;
  /** Ends it at once, its thread too where nothing else helps. */
  kill(message: string): Promise<void>;
}

export interface Programs {
  start(scope: Scope, manifest: Manifest, task: WorkflowTask, host: WorkflowTaskHost): WorkflowTaskHandle;
}

/** The module of an artifact of code: it exports `workflows`, a list of what `defineWorkflow` gave. */
export const programPath = 'workflows.mjs';
