/** `step` and sent signals with the library's signatures, over the SDK's. */
import type { Duration } from '../sdk/duration.ts';
import { NonRetryableError } from '../sdk/errors.ts';
import type { RetryPolicy } from '../sdk/retry-policy.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { Step } from '../sdk/step.ts';
import type { Stored } from '../sdk/stored.ts';
import type { WorkflowSpec } from '../sdk/workflow.ts';

export interface StepRunOptions {
  readonly name: string;
  readonly retryPolicy?: RetryPolicy;
}

export interface StepWorkflowOptions {
  /** default: the retry policy of the workflow */
  readonly name?: string;
  /** Default: 1 year. After it the step fails, and the child run continues. */
  readonly timeout?: Duration | Date;
}

export interface StepSignalOptions {
  /** default: the name of the signal */
  readonly name?: string;
  readonly signal: string;
  readonly data?: unknown;
}

export interface StepWaitOptions<Data> {
  /** default: the name of the signal */
  readonly name?: string;
  readonly signal: string;
  /** default: the lifetime of the run */
  readonly timeout?: Duration | Date;
  readonly schema?: StandardSchema<never, Data> | StandardSchema<unknown, Data>;
}

/** The result of the step that sends a signal. */
export interface SentSignal {
  readonly signalId: string;
  /**
   * Unknown in a workflow: the step ends with its commit, and the platform delivers the signal after it.
   * @throws NonRetryableError `openworkflow_unsupported`, always
   */
  readonly workflowRunIds: readonly string[];
}

export interface StepApi {
  run<Output>(options: StepRunOptions, fn: () => Output | Promise<Output>): Promise<Stored<Output>>;
  sleep(name: string, duration: Duration): Promise<void>;
  runWorkflow<Input, Output, RunInput = Input>(
    spec: WorkflowSpec<Input, Output, RunInput>,
    input?: RunInput,
    options?: StepWorkflowOptions,
  ): Promise<Stored<Output>>;
  /** Sends the signal to one run that waits for it. Without one, the signal is stored for a day. */
  sendSignal(options: StepSignalOptions): Promise<SentSignal>;
  /** Null: no signal came in time. */
  waitForSignal<Data = unknown>(options: StepWaitOptions<Data>): Promise<{ readonly data: Data } | null>;
}

export const stepApi = (step: Step): StepApi => ({
  run: (options, fn) => step.run(options, () => fn()),
  sleep: (name, duration) => step.sleep(name, duration),
  runWorkflow<Input, Output, RunInput>(
    { name }: WorkflowSpec<Input, Output, RunInput>,
    input?: RunInput,
    options?: StepWorkflowOptions,
  ) {
    const target: WorkflowSpec<unknown, Output> = { name };
    return step.runWorkflow<unknown, Output, unknown>(target, input, options);
  },
  async sendSignal(options) {
    const { signalId } = await step.sendSignal({ ...options, correlation: sharedCorrelation });
    return sentSignal(signalId);
  },
  waitForSignal: (options) => step.waitForSignal({ ...options, correlation: sharedCorrelation }),
});

/** The correlation of all signals: the library identifies a signal by its name alone. */
export const sharedCorrelation = 'openworkflow';

const sentSignal = (signalId: string): SentSignal =>
  // Not enumerable: storing or printing the result must not call the getter.
  Object.defineProperty({ signalId, workflowRunIds: [] }, 'workflowRunIds', {
    enumerable: false,
    get(): never {
      throw new NonRetryableError('the step ends before its signal is delivered, so the runs that it reaches are not known', {
        code: 'openworkflow_unsupported',
      });
    },
  });
