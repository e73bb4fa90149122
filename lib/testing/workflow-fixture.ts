/** The workflows of a test, recognised by their shape, and the manifest of their deployment. */
import type { Instant } from '../engine/time.ts';
import { defined } from '../base/defined.ts';
import { deploymentId } from '../engine/ids.ts';
import { type ActivePointer, type Manifest, defaultApp, pointerAfter } from '../ports/deployments.ts';
import { programPath } from '../ports/programs.ts';
import type { StepApi } from '../program/step-api.ts';
import { type Duration, parseDuration } from '../sdk/duration.ts';
import { workflowMark } from '../sdk/marks.ts';
import type { WorkflowSpec } from '../sdk/workflow.ts';

/** The result of `defineWorkflow`, with any types. */
export interface AnyWorkflow {
  readonly spec: { readonly name: string; readonly version?: string; readonly deadline?: Duration };
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

export const testDeploymentId = deploymentId('under-test');

/** The workflows as one deployment. */
export const manifestOf = (workflows: readonly AnyWorkflow[]): Manifest => ({
  deploymentId: testDeploymentId,
  specVersion: 1,
  app: defaultApp,
  runtime: 'code',
  workflows: workflows.map(({ spec: { name, version, deadline } }) => {
    const deadlineSeconds = deadline === undefined ? undefined : Math.ceil(parseDuration(deadline) / 1_000);
    return defined({ name, version, deadlineSeconds });
  }),
  steps: [],
  files: [{ path: programPath, sha256: '0'.repeat(64), bytes: 1 }],
  artifact: { sha256: '0'.repeat(64), bytes: 1 },
});

/** The pointer of an environment whose only active deployment is this one. */
export const pointerTo = (manifest: Manifest, at: Instant): ActivePointer =>
  pointerAfter(undefined, manifest, { deploymentId: manifest.deploymentId, at, by: null });
