/**
 * What a workflow asks for. Each step has a name; the second `charge` of a run is `charge:1`, the third `charge:2`. What a step
 * came to is written down, and the code is given it again each time it is replayed.
 */
import type { Duration } from './duration.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { Stored } from './stored.ts';
import type { WorkflowSpec } from './workflow.ts';

export interface StepContext {
  /** aborted when the run is cancelled, has ended, or when this machine has to stop */
  readonly signal: AbortSignal;
  /** 1 for the first try */
  readonly attempt: number;
  /** of the step; with the id of the run it names this piece of work wherever it is to happen once */
  readonly key: string;
}

export interface RollbackContext<Output> extends StepContext {
  /** what the step came to */
  readonly output: Stored<Output>;
}

export interface StepOptions<Output> {
  readonly name: string;
  readonly retryPolicy?: RetryPolicy;
  /** Undoes the step when the run fails or is cancelled after it was done. The last step done is undone first. */
  readonly rollback?: (context: RollbackContext<Output>) => unknown;
  /** To do it twice is no harm: what it came to may be written down while the next step, idempotent too, is at work. */
  readonly idempotent?: boolean;
}

export interface SentSignal {
  readonly signalId: string;
}

export interface Step {
  /** Runs the function, again where it throws (`retryPolicy`). @throws StepError when it has failed for good */
  run<Output>(
    options: StepOptions<NoInfer<Output>>,
    stepFunction: (context: StepContext) => Output | Promise<Output>,
  ): Promise<Stored<Output>>;
  /** Takes no machine while it lasts. */
  sleep(name: string, duration: Duration): Promise<void>;
  sleepUntil(name: string, moment: Date | number | string): Promise<void>;
  /**
   * Starts a run of another workflow, and waits for its result. The step is named after the workflow.
   * `timeout`: a length of time or a moment, 1 year by default; the step fails then, and the other run goes on.
   */
  runWorkflow<Input, Output, RawInput>(
    workflow: { readonly spec: WorkflowSpec<Input, Output, RawInput> } | WorkflowSpec<Input, Output, RawInput>,
    ...rest: undefined extends RawInput
      ? [input?: RawInput, options?: RunWorkflowOptions]
      : [input: RawInput, options?: RunWorkflowOptions]
  ): Promise<Stored<Output>>;
  /**
   * Waits for a signal of this name and correlation; one that was sent before is kept for it. Without a `correlation`: those
   * that are sent to this run by its id. Null: none came in time. The step is named after the signal.
   */
  waitForSignal<Data = unknown>(
    options: WaitForSignalOptions & { readonly schema?: StandardSchema<never, Data> | StandardSchema<unknown, Data> },
  ): Promise<{ readonly data: Data } | null>;
  /** Sends one, once. Without a `correlation`: to this run itself. The step is named after the signal. */
  sendSignal(options: SendSignalOptions): Promise<SentSignal>;
}

export interface RunWorkflowOptions {
  readonly name?: string;
  readonly timeout?: Duration | Date;
}

export interface WaitForSignalOptions {
  readonly name?: string;
  readonly signal: string;
  /** which of all the things that bear the name: an order's number, or a run's id */
  readonly correlation?: string;
  /** absent: it waits for as long as the run lives */
  readonly timeout?: Duration | Date;
}

export interface SendSignalOptions {
  readonly name?: string;
  readonly signal: string;
  readonly correlation?: string;
  readonly data?: unknown;
}
