/** The workflow of a run, in what an author's module exports. It is known by its marks: the module has its own copy of the SDK. */
import type { StepRetry } from '../engine/durable/step.ts';
import type { RunFacts } from '../engine/durable/turn.ts';
import { messageOf } from '../engine/words-of.ts';
import { workflowMark } from '../sdk/marks.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { Chance } from './chance.ts';
import type { ProgramLog } from './program-log.ts';
import type { StepSurface } from './step-surface.ts';
import { stepRetryOf } from './step-policy.ts';

/** What the function is called with, as `WorkflowArguments` of the SDK says it. */
export interface ProgramArguments {
  readonly input: unknown;
  readonly step: StepSurface;
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
  readonly random: Chance['random'];
  readonly uuid: Chance['uuid'];
}

interface Definition {
  readonly spec: {
    readonly name: string;
    readonly version?: string;
    readonly schema?: StandardSchema;
    readonly retryPolicy?: unknown;
    readonly maxStepAttempts?: number;
  };
  readonly fn: (given: ProgramArguments) => unknown;
}

export interface ProgramWorkflow {
  readonly fn: Definition['fn'];
  readonly schema?: StandardSchema;
  readonly retry: StepRetry;
  readonly maxStepAttempts: number;
}

export type Found =
  | { readonly kind: 'found'; readonly workflow: ProgramWorkflow }
  | { readonly kind: 'unloadable' | 'unknown_workflow'; readonly message: string };

const defaultStepAttempts = 1_000;

export function findWorkflow(workflows: unknown, { workflowName, version }: RunFacts): Found {
  if (!Array.isArray(workflows)) return { kind: 'unloadable', message: 'the module exports no list `workflows`' };
  const stranger = workflows.findIndex((each) => !isWorkflow(each));
  if (stranger !== -1) return { kind: 'unloadable', message: `workflows[${stranger}] is nothing that defineWorkflow has made` };
  const found = workflows
    .filter(isWorkflow)
    .findLast(({ spec }) => spec.name === workflowName && (spec.version ?? null) === version);
  const named = version === null ? workflowName : `${workflowName}, version ${version}`;
  if (found === undefined) return { kind: 'unknown_workflow', message: `there is no workflow ${named}` };
  const { spec, fn } = found;
  try {
    const { maxStepAttempts = defaultStepAttempts } = spec;
    const retry = stepRetryOf(spec.retryPolicy) ?? {};
    return {
      kind: 'found',
      workflow: { fn, retry, maxStepAttempts, ...(spec.schema === undefined ? {} : { schema: spec.schema }) },
    };
  } catch (error) {
    return { kind: 'unloadable', message: `workflow ${named}: ${messageOf(error)}` };
  }
}

const isWorkflow = (value: unknown): value is Definition =>
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
