/**
 * The steps of a code workflow. Each step has a name; the second step named `charge` has the key `charge:1`, the third `charge:2`.
 * The log stores the result of each step, and a replay gets the stored result.
 */
import type { Duration } from './duration.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { Stored } from './stored.ts';
import type { WorkflowSpec } from './workflow.ts';

export interface StepContext {
  /** aborted when the run is cancelled or ends, or when the worker stops */
  readonly signal: AbortSignal;
  /** 1 for the first attempt */
  readonly attempt: number;
  /** key of the step; together with the run id it is an idempotency key for other services */
  readonly key: string;
}

export interface RollbackContext<Output> extends StepContext {
  /** the step's stored result */
  readonly output: Stored<Output>;
}

export interface StepOptions<Output> {
  readonly name: string;
  readonly retryPolicy?: RetryPolicy;
  /** Compensates the step when the run fails or is cancelled after the step completed. Rollbacks run in reverse order. */
  readonly rollback?: (context: RollbackContext<Output>) => unknown;
  /**
   * Running the step twice is harmless: the next idempotent step may start before this step's result is committed, and both results may
   * share a commit. Default: false.
   */
  readonly idempotent?: boolean;
}

export interface SentSignal {
  readonly signalId: string;
}

export interface Step {
  /** Runs the function, and retries it when it throws (`retryPolicy`). @throws StepError when no retry is left */
  run<Output>(
    options: StepOptions<NoInfer<Output>>,
    stepFunction: (context: StepContext) => Output | Promise<Output>,
  ): Promise<Stored<Output>>;
  /** Sleeps durably. A sleep uses no compute. */
  sleep(name: string, duration: Duration): Promise<void>;
  sleepUntil(name: string, moment: Date | number | string): Promise<void>;
  /**
   * Starts a run of another workflow, and waits for its result. The default step name is the workflow's name.
   * `timeout`: a duration or a time, 1 year by default. The step then fails, and the other run continues.
   */
  runWorkflow<Input, Output, RawInput>(
    workflow: { readonly spec: WorkflowSpec<Input, Output, RawInput> } | WorkflowSpec<Input, Output, RawInput>,
    ...rest: undefined extends RawInput
      ? [input?: RawInput, options?: RunWorkflowOptions]
      : [input: RawInput, options?: RunWorkflowOptions]
  ): Promise<Stored<Output>>;
  /**
   * Waits for a signal with this name and correlation. A signal that was sent before the wait is delivered too. The default
   * `correlation` is the run id. Returns null after the timeout. The default step name is the signal's name.
   */
  waitForSignal<Data = unknown>(
    options: WaitForSignalOptions & { readonly schema?: StandardSchema<never, Data> | StandardSchema<unknown, Data> },
  ): Promise<{ readonly data: Data } | null>;
  /** Sends a signal exactly once. The default `correlation` is the run id. The default step name is the signal's name. */
  sendSignal(options: SendSignalOptions): Promise<SentSignal>;
}

export interface RunWorkflowOptions {
  readonly name?: string;
  readonly timeout?: Duration | Date;
}

export interface WaitForSignalOptions {
  readonly name?: string;
  readonly signal: string;
  /** matches a signal to a wait, such as an order number or a run id */
  readonly correlation?: string;
  /** default: no timeout, the wait lasts as long as the run */
  readonly timeout?: Duration | Date;
}

export interface SendSignalOptions {
  readonly name?: string;
  readonly signal: string;
  readonly correlation?: string;
  readonly data?: unknown;
}
