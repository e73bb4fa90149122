/** Step requests of the author's code, and the pending steps that wait for a result. */
import { defined } from '../base/defined.ts';
import type { Command } from '../engine/durable/command-batch.ts';
import type { StepKind, StepRetry } from '../engine/durable/step.ts';
import type { JsonValue } from '../engine/json.ts';
import { durationMs } from '../engine/time.ts';
import { parseDuration } from '../sdk/duration.ts';

export interface StepFunctionContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly key: string;
}

/** A step with a function of the author. */
export interface FunctionStep {
  readonly stepFunction: (context: StepFunctionContext) => unknown;
  readonly retry?: StepRetry;
  /** the next step may start before this result is committed, and both may share a commit; if the result is lost, the step runs again */
  readonly isIdempotent?: true;
  readonly rollback?: (context: StepFunctionContext & { readonly output: JsonValue }) => unknown;
}

export interface StepRequest {
  readonly kind: Exclude<StepKind, 'workflow_task' | 'rollback'>;
  readonly name: string;
  /** name of the called workflow, or of the signal */
  readonly target?: string;
  readonly command: (key: string) => Command;
  readonly functionStep?: FunctionStep;
}

export interface PendingStep {
  readonly key: string;
  readonly kind: StepRequest['kind'];
  readonly target?: string;
  readonly command: Command;
  readonly functionStep?: FunctionStep;
  readonly resolve: (output: JsonValue) => void;
  readonly reject: (error: Error) => void;
}

/** A wait ends without the workflow task: a timer, a signal or a child run ends it. */
export const isWait = ({ kind }: { readonly kind: StepKind }): boolean =>
  kind === 'sleep' || kind === 'signal-wait' || kind === 'workflow';

/** If its result is lost, the step runs again, and nothing outside the run has changed. A rollback would undo something. */
export const canShareCommit = ({ functionStep }: Pick<PendingStep, 'functionStep'>): boolean =>
  functionStep?.isIdempotent === true && functionStep.rollback === undefined;

/** Converts an author's retry policy to the engine's form. @throws TypeError for an invalid policy */
export function stepRetryOf(policy: unknown): StepRetry | undefined {
  if (policy === undefined) return undefined;
  if (typeof policy !== 'object' || policy === null) throw new TypeError('a retryPolicy must be an object');
  const fields: Readonly<Record<string, unknown>> = { ...policy };
  const { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval, ...others } = fields;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new TypeError(`a retryPolicy has no field ${JSON.stringify(unknown)}`);
  return defined({
    maximumAttempts: maximumAttempts === undefined ? undefined : wholeNumber(maximumAttempts),
    initialIntervalMs: initialInterval === undefined ? undefined : durationMs(parseDuration(initialInterval)),
    backoffCoefficient: backoffCoefficient === undefined ? undefined : coefficient(backoffCoefficient),
    maximumIntervalMs: maximumInterval === undefined ? undefined : durationMs(parseDuration(maximumInterval)),
  });
}

function wholeNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new TypeError(`maximumAttempts must be an integer of at least 0 (0: unlimited), and is ${String(value)}`);
  return value;
}

function coefficient(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1)
    throw new TypeError(`backoffCoefficient must be a number of at least 1, and is ${String(value)}`);
  return value;
}
