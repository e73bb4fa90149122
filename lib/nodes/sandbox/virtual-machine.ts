/**
 * Runs one script in a new QuickJS machine. The interrupt handler stops loops of the script. Loops inside QuickJS's native functions
 * (classes of a regular expression, BigInt, `normalize`, a `join` over 2^53 elements) do not call it, so the machine runs on a thread
 * that can be terminated (`thread-sandbox.ts`).
 */
import { type JSValueHandle, QuickJS } from 'quickjs-wasi';
import { jsonLimits } from '../../engine/validate-json.ts';
import { errorText } from '../../engine/error-text.ts';
import { prelude } from './prelude.ts';
import { type PrintedLines, collectPrintedLines } from '../../engine/log/event-limits.ts';
import { type Script, type ScriptEnd, type StopReason, scriptLimits, sliceSpent, timeLimit } from './script.ts';
import { type ScriptResult, truncateMessage, fileName, scriptPrefix, parseScriptResult } from './script-result.ts';

/** Less than the 1 MiB stack of the WebAssembly module, so that deep recursion is an exception and not a crash. */
export const stackBytes = 262_144;

/** Monotonic time. It bounds this process and is not recorded. */
const elapsedSince = (start: bigint): number => Number((process.hrtime.bigint() - start) / 1_000_000n);

/** CPU time of this thread, in milliseconds. A busy machine must not count against the script. */
const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Never rejects. */
export async function runInMachine(
  wasm: WebAssembly.Module,
  script: Script,
): Promise<ScriptEnd | { readonly kind: typeof sliceSpent }> {
  const start = process.hrtime.bigint();
  const cpuMsBefore = threadCpuMs();
  const printed = collectPrintedLines();
  let isTimedOut = false;
  let isSliceSpent = false;
  const toScriptEnd = (result: ScriptResult): ScriptEnd => ({
    ...result,
    printed: [...printed.lines()],
    cpuMs: threadCpuMs() - cpuMsBefore,
  });
  const shouldStop = (): boolean => {
    isTimedOut ||= elapsedSince(start) > script.timeoutMs;
    isSliceSpent ||= script.sliceMs !== undefined && threadCpuMs() - cpuMsBefore > script.sliceMs;
    return isTimedOut || isSliceSpent;
  };
  try {
    const machine = await QuickJS.create({
      wasm,
      memoryLimit: script.memoryBytes,
      maxStackSize: stackBytes,
      timezoneOffset: 0,
      interruptHandler: shouldStop,
    });
    const raw = evaluate(machine, script, printed);
    // An interrupted job is a rejected promise and not an exception, so timeouts are also checked here.
    if (isSliceSpent && !isTimedOut) return { kind: sliceSpent };
    return toScriptEnd(isTimedOut ? { kind: 'stopped', ...timeLimit(script.timeoutMs) } : parseScriptResult(raw, script.code));
  } catch (error) {
    if (isSliceSpent && !isTimedOut) return { kind: sliceSpent };
    return toScriptEnd({ kind: 'stopped', ...(isTimedOut ? timeLimit(script.timeoutMs) : stopReasonOf(error)) });
  }
  // The machine is not disposed: freeing a machine that ran out of memory can trap. It is garbage collected with its instance.
}

/** @returns the prelude's report of how the script ended */
function evaluate(machine: QuickJS, script: Script, printed: PrintedLines): string {
  const print = machine.newFunction('print', (line?: JSValueHandle) => {
    if (line?.isString === true) printed.add(line.toString());
    return machine.undefined;
  });
  const host = machine.callFunction(
    machine.evalCode(prelude, 'prelude.js'),
    machine.undefined,
    print,
    machine.newString(script.context),
    machine.newString(script.inputs),
    machine.newNumber(scriptLimits.outputBytes),
    machine.newNumber(scriptLimits.printedBytes),
    machine.newNumber(jsonLimits.levels),
    machine.newNumber(scriptLimits.messageLength),
  );
  const [run, finish] = [host.getProp('run'), host.getProp('finish')];
  const body = machine.evalCode(`${scriptPrefix}${script.code}\n})`, fileName);
  const ended = stringOf(machine.callFunction(run, machine.undefined, body));
  if (ended !== '') return ended;
  // Runs the script's microtasks under the same limits.
  machine.executePendingJobs();
  return stringOf(machine.callFunction(finish, machine.undefined));
}

/** Converting other values to a string could run the script's code. */
const stringOf = (answer: JSValueHandle): string => (answer.isString ? answer.toString() : 'nothing');

/** Maps errors that the prelude does not catch: limits of QuickJS, and syntax errors. */
function stopReasonOf(error: unknown): StopReason {
  const messageText = errorText(error);
  if (/maximum call stack size/i.test(messageText))
    return { errorCode: 'recursion_exceeded', message: 'the script exceeds the maximum call depth' };
  if (/out of memory|string too long|invalid (array buffer|string) length/i.test(messageText))
    return { errorCode: 'memory_exceeded', message: 'the script exceeds its memory limit' };
  if (messageText.startsWith('SyntaxError: '))
    return { errorCode: 'script_threw', isCodeError: true, message: truncateMessage(messageText) };
  return { errorCode: 'sandbox_failed', message: truncateMessage(messageText) };
}
