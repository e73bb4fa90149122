/** `step`, as that library's workflows know it, over the SDK's. */
import type { Duration } from '../sdk/duration.ts';
import type { RetryPolicy } from '../sdk/retry-policy.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { Step } from '../sdk/step.ts';
import type { Stored } from '../sdk/stored.ts';
import type { WorkflowSpec } from '../sdk/workflow.ts';
import { type SentSignal, sharedCorrelation, sentSignal } from './sent-signal.ts';

export interface StepRunOptions {
  readonly name: string;
  readonly retryPolicy?: RetryPolicy;
}

export interface StepWorkflowOptions {
  /** that of the workflow by default */
  readonly name?: string;
  /** 1 year; the step fails then, and the other run goes on */
  readonly timeout?: Duration | Date;
}

export interface StepSignalOptions {
  /** that of the signal by default */
  readonly name?: string;
  readonly signal: string;
  readonly data?: unknown;
}

export interface StepWaitOptions<Data> {
  /** that of the signal by default */
  readonly name?: string;
  readonly signal: string;
  /** absent: for as long as the run lives */
  readonly timeout?: Duration | Date;
  readonly schema?: StandardSchema<never, Data> | StandardSchema<unknown, Data>;
}

export interface StepApi {
  run<Output>(options: StepRunOptions, fn: () => Output | Promise<Output>): Promise<Stored<Output>>;
  sleep(name: string, duration: Duration): Promise<void>;
  runWorkflow<Input, Output, RunInput = Input>(
    spec: WorkflowSpec<Input, Output, RunInput>,
    input?: RunInput,
    options?: StepWorkflowOptions,
  ): Promise<Stored<Output>>;
  /** To one run that waits for it; where none does, it is kept for a day. */
  sendSignal(options: StepSignalOptions): Promise<SentSignal>;
  /** Null: none came in time. */
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
