/** What the author's code asks for, and is waiting to be told. */
import type { StepKind, StepRetry } from '../engine/durable/step.ts';
import type { Command } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';

export interface BodyContext {
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly key: string;
}

/** A step of the author's own. */
export interface FunctionStep {
  readonly body: (context: BodyContext) => unknown;
  readonly retry?: StepRetry;
  /** what it came to may be written down while the next step is at work: were it lost, the step would be done again */
  readonly isIdempotent?: true;
  readonly rollback?: (context: BodyContext & { readonly output: JsonValue }) => unknown;
}

export interface Request {
  readonly kind: Exclude<StepKind, 'drive' | 'rollback'>;
  readonly name: string;
  /** of a workflow its name, of a signal its name */
  readonly target?: string;
  readonly command: (key: string) => Command;
  readonly work?: FunctionStep;
}

export interface Ask {
  readonly key: string;
  readonly kind: Request['kind'];
  readonly target?: string;
  readonly command: Command;
  readonly work?: FunctionStep;
  readonly resolve: (output: JsonValue) => void;
  readonly reject: (error: Error) => void;
}

/** What is done by whoever drives: the others end by themselves. */
export const isWait = ({ kind }: { readonly kind: StepKind }): boolean =>
  kind === 'sleep' || kind === 'signal-wait' || kind === 'workflow';
