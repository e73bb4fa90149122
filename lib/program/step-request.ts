/** What the author's code asks for, and is waiting to be told. */
import type { StepKind, StepRetry } from '../engine/durable/step.ts';
import type { Command } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';

export interface StepFunctionContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly key: string;
}

/** A step of the author's own. */
export interface FunctionStep {
  readonly stepFunction: (context: StepFunctionContext) => unknown;
  readonly retry?: StepRetry;
  /** what it came to may be written down while the next step is at work: were it lost, the step would be done again */
  readonly isIdempotent?: true;
  readonly rollback?: (context: StepFunctionContext & { readonly output: JsonValue }) => unknown;
}

export interface StepRequest {
  readonly kind: Exclude<StepKind, 'workflow_task' | 'rollback'>;
  readonly name: string;
  /** of a workflow its name, of a signal its name */
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

/** What is done by whoever drives: the others end by themselves. */
export const isWait = ({ kind }: { readonly kind: StepKind }): boolean =>
  kind === 'sleep' || kind === 'signal-wait' || kind === 'workflow';
