/** The workflows of a test, recognised by their shape. */
import type { StepApi } from '../program/step-api.ts';
import { workflowMark } from '../sdk/marks.ts';
import type { WorkflowSpec } from '../sdk/workflow.ts';

/** The result of `defineWorkflow`, with any types. */
export interface AnyWorkflow {
  readonly spec: { readonly name: string; readonly version?: string };
  readonly fn: (args: never) => unknown;
}

/** A workflow or its spec. */
export type Startable<Input, Output, RawInput> =
  | { readonly spec: WorkflowSpec<Input, Output, RawInput> }
  | WorkflowSpec<Input, Output, RawInput>;

export const nameOf = (workflow: { readonly spec: { readonly name: string } } | { readonly name: string }): string =>
  'spec' in workflow ? workflow.spec.name : workflow.name;

/** The part of the workflow function's arguments that the kit reads. */
export interface WorkflowArguments {
  readonly run: { readonly id: string };
  readonly step: StepApi;
}

export const isWorkflow = (
  value: unknown,
): value is Pick<AnyWorkflow, 'spec'> & { readonly fn: (args: WorkflowArguments) => unknown } =>
  typeof value === 'object' && value !== null && workflowMark in value && 'fn' in value && typeof value.fn === 'function';

export type StepFunction = (context: { readonly signal: AbortSignal; readonly attempt: number; readonly key: string }) => unknown;

export const isStepFunction = (value: unknown): value is StepFunction => typeof value === 'function';
