/** What a test gives as a workflow, known by its shape. */
import type { StepSurface } from '../program/step-surface.ts';
import { workflowMark } from '../sdk/marks.ts';
import type { WorkflowSpec } from '../sdk/workflow.ts';

/** What `defineWorkflow` gives, whatever its types. */
export interface AnyWorkflow {
  readonly spec: { readonly name: string; readonly version?: string };
  readonly fn: (given: never) => unknown;
}

/** A workflow, or its spec. */
export type Startable<Input, Output, Given> =
  | { readonly spec: WorkflowSpec<Input, Output, Given> }
  | WorkflowSpec<Input, Output, Given>;

export const nameOf = (workflow: { readonly spec: { readonly name: string } } | { readonly name: string }): string =>
  'spec' in workflow ? workflow.spec.name : workflow.name;

/** What of the arguments of its function is looked at here. */
export interface WatchedArguments {
  readonly run: { readonly id: string };
  readonly step: StepSurface;
}

export const isWorkflow = (
  value: unknown,
): value is Pick<AnyWorkflow, 'spec'> & { readonly fn: (given: WatchedArguments) => unknown } =>
  typeof value === 'object' && value !== null && workflowMark in value && 'fn' in value && typeof value.fn === 'function';

export type Body = (context: { readonly signal: AbortSignal; readonly attempt: number; readonly key: string }) => unknown;

export const isBody = (value: unknown): value is Body => typeof value === 'function';
