/** Defines code workflows: a spec with a name, and an async function whose step results survive crashes and deployments. */
import { type Duration, parseDuration } from './duration.ts';
import { workflowMark } from './marks.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { Step } from './step.ts';

declare const outputType: unique symbol;

/**
 * `RawInput` is the type that a caller passes. The schema, if present, transforms it to `Input`, which the function gets.
 */
export interface WorkflowSpec<Input = unknown, Output = unknown, RawInput = Input> {
  /** letters, digits, `.`, `_` and `-`, at most 128 */
  readonly name: string;
  readonly version?: string;
  /** validates the input; the function gets the schema's output */
  readonly schema?: StandardSchema<RawInput, Input>;
  /** retries the whole function: completed steps keep their results, failed steps run again. Default: one attempt. */
  readonly retryPolicy?: RetryPolicy;
  /** limit of attempts of all steps together, including retries. Default: 1,000; maximum: 25,000. */
  readonly maxStepAttempts?: number;
  /**
   * The run fails if it has not ended this long after its start: from one second to 365 days. Default: 7 days, in which waits do not
   * count, so that a wait never fails a run whose deadline nothing declares. A start can declare another one.
   */
  readonly deadline?: Duration;
  /** for type inference only */
  readonly [outputType]?: { readonly output: Output };
}

export interface RunMetadata {
  readonly id: string;
  readonly workflowName: string;
  readonly createdAt: Date;
  /** The run fails at this time if it has not ended. Without a declared deadline: the latest time to which waits can extend it. */
  readonly deadlineAt: Date;
  /** attempt of the workflow, from 1 */
  readonly attempt: number;
}

/** Writes nothing during a replay. */
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
  /** time of the last result that the code got: the same in each replay */
  readonly now: () => Date;
  /** from 0 (inclusive) to 1 (exclusive); the same in each replay */
  readonly random: () => number;
  /** UUID version 4; the same in each replay */
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
const minDeadlineMs = 1_000;
const maxDeadlineMs = 31_536_000_000;

/** Declares a workflow whose code is elsewhere. @throws TypeError for an invalid name, version, limit or deadline */
export function defineWorkflowSpec<Input, Output = unknown, RawInput = Input>(
  spec: WorkflowSpec<Input, Output, RawInput>,
): WorkflowSpec<Input, Output, RawInput> {
  const { name, version, maxStepAttempts = stepAttemptsLimit, deadline = minDeadlineMs } = spec;
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new TypeError(`the name of a workflow must match ${namePattern.source}, and is ${JSON.stringify(name)}`);
  if (version !== undefined && (typeof version !== 'string' || version.length < 1 || version.length > 128))
    throw new TypeError(`the version of workflow ${name} must be a string of 1 to 128 characters`);
  if (!Number.isInteger(maxStepAttempts) || maxStepAttempts < 1 || maxStepAttempts > stepAttemptsLimit)
    throw new TypeError(`maxStepAttempts of workflow ${name} must be an integer from 1 to ${stepAttemptsLimit}`);
  const deadlineMs = parseDuration(deadline);
  if (deadlineMs < minDeadlineMs || deadlineMs > maxDeadlineMs)
    throw new TypeError(
      `the deadline of workflow ${name} must be a duration from 1 second to 365 days, such as "30 days", and is ${JSON.stringify(deadline)}`,
    );
  // As a number: the command line, which lists the workflows of a project, does not parse units.
  return spec.deadline === undefined ? spec : { ...spec, deadline: deadlineMs };
}

/** @throws TypeError for an invalid name, version, limit or deadline, or a missing function */
export function defineWorkflow<Input = unknown, Output = unknown, RawInput = Input>(
  spec: Omit<WorkflowSpec<Input, unknown, RawInput>, typeof outputType>,
  fn: WorkflowFunction<Input, Output>,
): Workflow<Input, Output, RawInput> {
  if (typeof fn !== 'function') throw new TypeError(`workflow ${spec.name} has no function`);
  return { spec: defineWorkflowSpec<Input, Output, RawInput>(spec), fn, [workflowMark]: 1 };
}
