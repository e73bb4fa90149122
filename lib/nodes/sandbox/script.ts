/** The interface of the sandbox. Only strings and numbers cross it, so that a script cannot reach objects of the host. */
import { ContextTooLarge, payloadLimits } from '../../engine/graph/payload-limits.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { failureLimits, printedLimits } from '../../engine/log/event-limits.ts';
import type { DurationMs } from '../../engine/time.ts';

export interface Script {
  /** the body of a synchronous function */
  readonly code: string;
  /** `ctx` and `inputs` of the script, as JSON */
  readonly context: string;
  readonly inputs: string;
  readonly timeoutMs: DurationMs;
  /** CPU time after which the script must start again in the slow lane; absent: no such limit */
  readonly sliceMs?: DurationMs;
  readonly memoryBytes: number;
}

/** Error codes of scripts. */
export const scriptErrorCodes = [
  'script_threw',
  'script_timeout',
  'memory_exceeded',
  'recursion_exceeded',
  'output_too_large',
  'output_too_deep',
  'output_invalid',
  'sandbox_failed',
] as const;
export type ScriptErrorCode = (typeof scriptErrorCodes)[number];

export type ScriptEnd =
  | ({ readonly kind: 'returned'; /** JSON */ readonly output: string } & Used)
  | ({ readonly kind: 'stopped' } & Used & StopReason);

interface Used {
  readonly printed: readonly string[];
  /** CPU time used; 0 when the thread could not report it */
  readonly cpuMs: number;
}

export const sliceSpent = 'slice_spent';

export interface StopReason {
  readonly errorCode: ScriptErrorCode;
  readonly message: string;
  /** location in the script, both from 1 */
  readonly line?: number;
  readonly column?: number;
  /** the exceeded time limit */
  readonly timeoutMs?: DurationMs;
  /** JSON pointer into the result */
  readonly path?: string;
}

export interface Sandbox {
  /**
   * Always settles within the script's time limit. Rejects with the signal's reason when it aborts first.
   * @throws TimeSliceExceeded when the script has a slice and does not end within it
   */
  run(script: Script, signal: AbortSignal): Promise<ScriptEnd>;
}

export const scriptLimits = {
  /** JSON result of one attempt */
  outputBytes: 1_048_576,
  /** one printed line before it is measured: the limit of the whole attempt */
  printedBytes: printedLimits.bytes,
  /** message of a failure, in characters */
  messageLength: failureLimits.message,
} as const;

export const timeLimit = (timeoutMs: DurationMs) =>
  ({ errorCode: 'script_timeout', message: `the script took longer than its limit of ${timeoutMs} ms`, timeoutMs }) as const;

/** Internal context names (`__…`) and the inputs are passed only when the code mentions them, which saves work. */
export const scriptWith = (code: string, input: NodeInput, limits: Pick<Script, 'timeoutMs' | 'memoryBytes'>): Script => {
  const context = JSON.stringify(input.context.all({ hidden: code.includes('__') }));
  const inputs = code.includes('inputs') ? JSON.stringify(input.inputs) : '{}';
  const bytes = context.length + inputs.length;
  if (bytes > payloadLimits.contextBytes) throw new ContextTooLarge(bytes);
  return { code, context, inputs, ...limits };
};
