/** Workflows: a name, and an async function whose steps outlive the machines that it runs on. */
import { workflowMark } from './marks.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { Step } from './step.ts';

declare const outputType: unique symbol;

/**
 * `Input` is what the function gets, `Given` what a caller gives: the schema, where there is one, makes the one of the other.
 */
export interface WorkflowSpec<Input = unknown, Output = unknown, RawInput = Input> {
  /** letters, digits, `.`, `_` and `-`, at most 128 */
  readonly name: string;
  readonly version?: string;
  /** of the input; what it makes of it is what the function gets */
  readonly schema?: StandardSchema<RawInput, Input>;
  /** of the whole function: its completed steps are kept, its failed ones tried anew. By default it is run once. */
  readonly retryPolicy?: RetryPolicy;
  /** of all steps together, their repetitions included: 1,000, and at most 25,000 */
  readonly maxStepAttempts?: number;
  /** only for the compiler */
  readonly [outputType]?: { readonly output: Output };
}

export interface RunMetadata {
  readonly id: string;
  readonly workflowName: string;
  readonly createdAt: Date;
  /** the run fails here if it has not ended */
  readonly deadlineAt: Date;
  /** of the workflow, from 1 */
  readonly attempt: number;
}

/** Says nothing while the code is replayed. */
export interface Logger {
  debug(message: string, data?: unknown): void;
  info(message: string, data?: unknown): void;
  warn(message: string, data?: unknown): void;
  error(message: string, data?: unknown): void;
}

export interface WorkflowArguments<Input> {
  readonly input: Input;
  readonly step: Step;
  readonly run: RunMetadata;
  readonly version: string | null;
  readonly log: Logger;
  /** when the last result came that the code was given: the same each time it is replayed */
  readonly now: () => Date;
  /** from 0 up to 1, the same each time the code is replayed */
  readonly random: () => number;
  /** likewise; version 4 */
  readonly uuid: () => string;
}

export type WorkflowFunction<Input, Output> = (args: WorkflowArguments<Input>) => Output | Promise<Output>;

export interface Workflow<Input = unknown, Output = unknown, RawInput = Input> {
  readonly spec: WorkflowSpec<Input, Output, RawInput>;
  readonly fn: WorkflowFunction<Input, Output>;
  readonly [workflowMark]: 1;
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
const stepAttemptsLimit = 25_000;

/** For a workflow whose code is elsewhere. @throws TypeError for a name or a limit that cannot be */
export function defineWorkflowSpec<Input, Output = unknown, RawInput = Input>(
  spec: WorkflowSpec<Input, Output, RawInput>,
): WorkflowSpec<Input, Output, RawInput> {
  const { name, version, maxStepAttempts = stepAttemptsLimit } = spec;
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new TypeError(`the name of a workflow must match ${namePattern.source}, and is ${JSON.stringify(name)}`);
  if (version !== undefined && (typeof version !== 'string' || version.length < 1 || version.length > 128))
    throw new TypeError(`the version of workflow ${name} must be a text of 1 to 128 characters`);
  if (!Number.isInteger(maxStepAttempts) || maxStepAttempts < 1 || maxStepAttempts > stepAttemptsLimit)
    throw new TypeError(`maxStepAttempts of workflow ${name} must be a whole number from 1 to ${stepAttemptsLimit}`);
  return spec;
}

/** @throws TypeError for a name or a limit that cannot be */
export function defineWorkflow<Input = unknown, Output = unknown, RawInput = Input>(
  spec: Omit<WorkflowSpec<Input, unknown, RawInput>, typeof outputType>,
  fn: WorkflowFunction<Input, Output>,
): Workflow<Input, Output, RawInput> {
  if (typeof fn !== 'function') throw new TypeError(`workflow ${spec.name} has no function`);
  return { spec: defineWorkflowSpec<Input, Output, RawInput>(spec), fn, [workflowMark]: 1 };
}
