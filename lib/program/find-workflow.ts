/** Finds the workflow of a run in the exports of an author's module. It checks marks, because the module bundles its own copy of the SDK. */
import { defined } from '../base/defined.ts';
import type { StepRetry } from '../engine/durable/step.ts';
import type { RunFacts } from '../engine/durable/command-batch.ts';
import { errorMessage } from '../engine/error-text.ts';
import { workflowMark } from '../sdk/marks.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { ProgramLog } from './printed.ts';
import type { StepApi } from './step-api.ts';
import { stepRetryOf } from './step-request.ts';

/** The arguments of the workflow function: the implementation of `WorkflowArguments` of the SDK. */
export interface ProgramArguments {
  readonly input: unknown;
  readonly step: StepApi;
  readonly run: {
    readonly id: string;
    readonly workflowName: string;
    readonly createdAt: Date;
    readonly deadlineAt: Date;
    readonly attempt: number;
  };
  readonly version: string | null;
  readonly log: ProgramLog;
  readonly now: () => Date;
  readonly random: SeededRandom['random'];
  readonly uuid: SeededRandom['uuid'];
}

interface WorkflowDefinition {
  readonly spec: {
    readonly name: string;
    readonly version?: string;
    readonly schema?: StandardSchema;
    readonly retryPolicy?: unknown;
    readonly maxStepAttempts?: number;
  };
  readonly fn: (args: ProgramArguments) => unknown;
}

export interface ProgramWorkflow {
  readonly fn: WorkflowDefinition['fn'];
  readonly schema?: StandardSchema;
  readonly retry: StepRetry;
  readonly maxStepAttempts: number;
}

export type WorkflowLookup =
  | { readonly kind: 'found'; readonly workflow: ProgramWorkflow }
  | { readonly kind: 'unloadable' | 'unknown_workflow'; readonly message: string };

export const defaultStepAttempts = 1_000;

export function findWorkflow(workflows: unknown, { workflowName, version }: RunFacts): WorkflowLookup {
  if (!Array.isArray(workflows)) return { kind: 'unloadable', message: 'the module exports no array `workflows`' };
  const invalidIndex = workflows.findIndex((each) => !isWorkflow(each));
  if (invalidIndex !== -1) return { kind: 'unloadable', message: `workflows[${invalidIndex}] was not made by defineWorkflow` };
  const match = workflows
    .filter(isWorkflow)
    .findLast(({ spec }) => spec.name === workflowName && (spec.version ?? null) === version);
  const label = version === null ? workflowName : `${workflowName}, version ${version}`;
  if (match === undefined) return { kind: 'unknown_workflow', message: `the deployment has no workflow ${label}` };
  const { spec, fn } = match;
  try {
    const { maxStepAttempts = defaultStepAttempts } = spec;
    const retry = stepRetryOf(spec.retryPolicy) ?? {};
    return {
      kind: 'found',
      workflow: defined({ fn, retry, maxStepAttempts, schema: spec.schema }),
    };
  } catch (error) {
    return { kind: 'unloadable', message: `workflow ${label}: ${errorMessage(error)}` };
  }
}

const isWorkflow = (value: unknown): value is WorkflowDefinition =>
  typeof value === 'object' &&
  value !== null &&
  workflowMark in value &&
  value[workflowMark] === 1 &&
  'fn' in value &&
  typeof value.fn === 'function' &&
  'spec' in value &&
  typeof value.spec === 'object' &&
  value.spec !== null &&
  'name' in value.spec &&
  typeof value.spec.name === 'string';
