/** The interface of the sandbox. Only strings and numbers cross it, so that a script cannot reach objects of the host. */
import { defined } from '../../base/defined.ts';
import { TimeSliceExceeded } from '../../engine/fair-shares.ts';
import { ContextTooLarge, payloadLimits } from '../../engine/graph/payload-limits.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { failureLimits, printedLimits } from '../../engine/log/event-limits.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { FailureCause } from '../../engine/retry.ts';
import { type DurationMs, durationMs } from '../../engine/time.ts';
import { readableNames } from '../context-reads.ts';

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
type ScriptErrorCode = (typeof scriptErrorCodes)[number];

export type ScriptEnd =
  | ({ readonly kind: 'returned'; /** JSON */ readonly output: string } & Used)
  | ({ readonly kind: 'stopped' } & Used & StopReason);

interface Used {
  readonly printed: readonly string[];
  /** CPU time used; absent when the thread could not report it */
  readonly cpuMs?: number;
}

export const sliceSpent = 'slice_spent';

export interface StopReason {
  readonly errorCode: ScriptErrorCode;
  readonly message: string;
  /** it threw a ReferenceError, a SyntaxError or a TypeError */
  readonly isCodeError?: true;
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

/**
 * The script gets the variables that its code can read, and the inputs if the code mentions them. Each other variable would have to be
 * loaded, if it is large, and parsed in each attempt.
 * @throws PayloadsNeeded, ContextTooLarge
 */
export const scriptWith = (code: string, input: NodeInput, limits: Pick<Script, 'timeoutMs' | 'memoryBytes'>): Script => {
  const names = readableNames(code);
  const context = JSON.stringify(input.context.all(defined({ hidden: code.includes('__'), names })));
  const inputs = code.includes('inputs') ? JSON.stringify(input.inputs) : '{}';
  const bytes = context.length + inputs.length;
  if (bytes > payloadLimits.contextBytes) throw new ContextTooLarge(bytes);
  return { code, context, inputs, ...limits };
};

/** The sandbox for the scripts of one attempt. */
export interface AttemptSandbox extends Sandbox {
  /** CPU time of the attempt's scripts that have ended; absent if a thread could not report that of one of them */
  usage(): { readonly cpuMs?: number };
}

/**
 * Measures the scripts of one attempt, and limits them to a shared time slice. An attempt that exceeds it starts again in the slow lane.
 * @param slice CPU time; absent: only the limit of each script applies
 * @returns a sandbox that rejects with `TimeSliceExceeded` when the slice is used up before a script ends
 */
export function withinSlice(sandbox: Sandbox, slice: DurationMs | undefined): AttemptSandbox {
  let usedMs = 0;
  let isReported = true;
  const limited = (script: Script): Script => {
    if (slice === undefined) return script;
    const remainingMs = slice - usedMs;
    if (remainingMs < 1) throw new TimeSliceExceeded();
    return { ...script, sliceMs: durationMs(Math.floor(remainingMs)) };
  };
  return {
    run: async (script, signal) => {
      const end = await sandbox.run(limited(script), signal);
      usedMs += end.cpuMs ?? 0;
      isReported &&= end.cpuMs !== undefined;
      return end;
    },
    usage: () => (isReported ? { cpuMs: usedMs } : {}),
  };
}

/**
 * A result that cannot be stored is not retried, and neither is a mistake in the code, unless the policy names it. Other failures may
 * depend on time or random values.
 */
const causes = {
  script_threw: 'error',
  script_timeout: 'timeout',
  memory_exceeded: 'error',
  recursion_exceeded: 'error',
  output_too_large: 'invalid',
  output_too_deep: 'invalid',
  output_invalid: 'invalid',
  sandbox_failed: 'error',
} as const satisfies Record<ScriptErrorCode, FailureCause>;

/** Maps the end of a script to a failure of its node. */
export const scriptFailure = ({
  errorCode,
  isCodeError,
  message,
  line,
  column,
  timeoutMs,
  path,
}: Extract<ScriptEnd, { kind: 'stopped' }>): Failure => {
  const cause: FailureCause = isCodeError === true ? 'code_error' : causes[errorCode];
  const failure = { cause, code: errorCode, message };
  if (path !== undefined) return { ...failure, details: { path } };
  if (timeoutMs !== undefined) return { ...failure, details: { timeoutMs } };
  return line === undefined ? failure : { ...failure, details: defined({ line, column }) };
};
