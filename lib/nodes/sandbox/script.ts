/** What a sandbox is asked and answers. Nothing but texts and numbers goes in or out: there is no object to climb on. */
import { ContextTooLarge, payloadLimits } from '../../engine/graph/payload-limits.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { failureLimits } from '../../engine/log/failure-limits.ts';
import { printedLimits } from '../../engine/log/printed-lines.ts';
import type { DurationMs } from '../../engine/time.ts';

export interface Script {
  /** the body of a function that is called without a wait */
  readonly code: string;
  /** what the script sees as `ctx` and as `inputs`, as JSON */
  readonly context: string;
  readonly inputs: string;
  readonly timeoutMs: DurationMs;
  /** of the processor's time: a script that has computed for longer is to begin again in the slow lane; absent: no such limit */
  readonly sliceMs?: DurationMs;
  readonly memoryBytes: number;
}

/** What an author may be told went wrong, apart from what the script threw itself. */
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
  /** the processor's time that it took; 0 where its thread could not say */
  readonly cpuMs: number;
}

export const sliceSpent = 'slice_spent';

export interface StopReason {
  readonly errorCode: ScriptErrorCode;
  readonly message: string;
  /** where in the script, both from 1 */
  readonly line?: number;
  readonly column?: number;
  /** the limit that it took longer than */
  readonly timeoutMs?: DurationMs;
  /** where in the result, as a JSON pointer */
  readonly path?: string;
}

export interface Sandbox {
  /**
   * Ends within the script's time limit whatever the script does; rejects with the signal's reason where that comes first.
   * @throws TimeSliceExceeded where the script has a slice and has not ended within it
   */
  run(script: Script, signal: AbortSignal): Promise<ScriptEnd>;
}

export const scriptLimits = {
  /** what one attempt may hand back, of JSON */
  outputBytes: 1_048_576,
  /** what one line may have before it is measured: all that an attempt may print */
  printedBytes: printedLimits.bytes,
  /** of a message, in characters: what a failure may say */
  messageLength: failureLimits.message,
} as const;

export const timeLimit = (timeoutMs: DurationMs) =>
  ({ errorCode: 'script_timeout', message: `the script took longer than its limit of ${timeoutMs} ms`, timeoutMs }) as const;

/** What the engine keeps for itself under names with `__`, and the inputs, are handed in only where the code mentions them. */
export const scriptWith = (code: string, input: NodeInput, limits: Pick<Script, 'timeoutMs' | 'memoryBytes'>): Script => {
  const context = JSON.stringify(input.context.all({ hidden: code.includes('__') }));
  const inputs = code.includes('inputs') ? JSON.stringify(input.inputs) : '{}';
  const bytes = context.length + inputs.length;
  if (bytes > payloadLimits.contextBytes) throw new ContextTooLarge(bytes);
  return { code, context, inputs, ...limits };
};
