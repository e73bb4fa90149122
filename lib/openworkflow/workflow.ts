/** Workflows with the library's signatures. Each is a workflow of the SDK, and is built, run and tested like one. */
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { RetryPolicy } from '../sdk/retry-policy.ts';
import {
  type Workflow as OfSdk,
  type WorkflowSpec,
  defineWorkflow as define,
  defineWorkflowSpec as defineSpec,
} from '../sdk/workflow.ts';
import { type StepApi, stepApi } from './step.ts';

export interface WorkflowRunMetadata {
  readonly id: string;
  readonly workflowName: string;
  readonly createdAt: Date;
  /** `createdAt` is equal in every replay */
  readonly startedAt: Date;
}

export interface WorkflowFunctionParams<Input> {
  readonly input: Input;
  readonly step: StepApi;
  readonly version: string | null;
  readonly run: WorkflowRunMetadata;
}

export type WorkflowFunction<Input, Output> = (params: WorkflowFunctionParams<Input>) => Output | Promise<Output>;

/** The marker that `stepwell build` looks for among the exports of a file. */
export type Workflow<Input = unknown, Output = unknown, RunInput = Input> = OfSdk<Input, Output, RunInput>;

interface Spec<Input, RunInput> {
  readonly name: string;
  readonly version?: string;
  readonly schema?: StandardSchema<RunInput, Input>;
  readonly retryPolicy?: RetryPolicy;
}

/** @throws TypeError for an invalid name: letters, digits, `.`, `_` and `-`, at most 128 */
export const defineWorkflowSpec = <Input = unknown, Output = unknown, RunInput = Input>(
  spec: Spec<Input, RunInput>,
): WorkflowSpec<Input, Output, RunInput> => defineSpec<Input, Output, RunInput>(spec);

/** An older name of `defineWorkflowSpec`. */
export const declareWorkflow = <Input = unknown, Output = unknown, RunInput = Input>(
  spec: Spec<Input, RunInput>,
): WorkflowSpec<Input, Output, RunInput> => defineWorkflowSpec<Input, Output, RunInput>(spec);

/** @throws TypeError for an invalid name */
export const defineWorkflow = <Input = unknown, Output = unknown, RunInput = Input>(
  spec: Spec<Input, RunInput> | WorkflowSpec<Input, Output, RunInput>,
  fn: WorkflowFunction<Input, Output>,
): Workflow<Input, Output, RunInput> => {
  if (typeof fn !== 'function') throw new TypeError(`workflow ${spec.name} has no function`);
  return define<Input, Output, RunInput>(spec, ({ input, step, version, run: { id, workflowName, createdAt } }) =>
    fn({ input, step: stepApi(step), version, run: Object.freeze({ id, workflowName, createdAt, startedAt: createdAt }) }),
  );
};
