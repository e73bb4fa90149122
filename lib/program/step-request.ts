/** Step requests of the author's code, and the pending steps that wait for a result. */
import type { StepKind, StepRetry } from '../engine/durable/step.ts';
import type { Command } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';

export interface StepFunctionContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly key: string;
}

/** A step with a function of the author. */
export interface FunctionStep {
  readonly stepFunction: (context: StepFunctionContext) => unknown;
  readonly retry?: StepRetry;
  /** the next step may start before this result is committed; if the result is lost, the step runs again */
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
