/**
 * One script in one fresh QuickJS machine. The interrupt stops loops that run as script; loops inside QuickJS's own
 * functions (a regular expression's classes, BigInt, `normalize`, a `join` over 2^53 places) look at no interrupt, so
 * the machine lives on a thread that can be killed (`thread-sandbox.ts`).
 */
import { type JSValueHandle, QuickJS } from 'quickjs-wasi';
import { jsonLimits } from '../../engine/validate-json.ts';
import { errorText } from '../../engine/error-text.ts';
import { prelude } from './prelude.ts';
import { type PrintedLines, collectPrintedLines } from '../../engine/log/printed-lines.ts';
import { type Script, type ScriptEnd, type StopReason, scriptLimits, sliceSpent, timeLimit } from './script.ts';
import { type ScriptResult, truncateMessage, fileName, scriptPrefix, parseScriptResult } from './script-result.ts';

/** Of the 1 MiB that the WebAssembly module has; deeper recursion is an exception and not a crash. */
const stackBytes = 262_144;

/** A bound on this machine, not a fact of the run: taken from the clock that nobody sets. */
const elapsedSince = (start: bigint): number => Number((process.hrtime.bigint() - start) / 1_000_000n);

/** Of this thread, in milliseconds. A machine that is busy with others takes longer, and a script is not to pay for that. */
const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Never rejects, whatever the script is or does. */
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
    // A job that was interrupted is a rejected promise and no exception: the script came to its end for lack of time.
    if (isSliceSpent && !isTimedOut) return { kind: sliceSpent };
    return toScriptEnd(isTimedOut ? { kind: 'stopped', ...timeLimit(script.timeoutMs) } : parseScriptResult(raw, script.code));
  } catch (error) {
    if (isSliceSpent && !isTimedOut) return { kind: sliceSpent };
    return toScriptEnd({ kind: 'stopped', ...(isTimedOut ? timeLimit(script.timeoutMs) : stopReasonOf(error)) });
  }
  // The machine is dropped with its instance: freeing one that ran out of memory in the middle of something can trap.
}

/** How the script ended, as the prelude puts it. */
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
  // What the script queued belongs to it: it runs now, under the same limits, or never.
  machine.executePendingJobs();
  return stringOf(machine.callFunction(finish, machine.undefined));
}

/** To make a text of anything else would run the script's code. */
const stringOf = (answer: JSValueHandle): string => (answer.isString ? answer.toString() : 'nothing');

/**
 * What came past the prelude, which catches all that a script can throw: the machine's own words about its limits, or about a
 * text that is no program.
 */
function stopReasonOf(error: unknown): StopReason {
  const messageText = errorText(error);
  if (/maximum call stack size/i.test(messageText))
    return { errorCode: 'recursion_exceeded', message: 'the script calls itself too deeply' };
  if (/out of memory|string too long|invalid (array buffer|string) length/i.test(messageText))
    return { errorCode: 'memory_exceeded', message: 'the script needs more memory than it may have' };
  if (messageText.startsWith('SyntaxError: ')) return { errorCode: 'script_threw', message: truncateMessage(messageText) };
  return { errorCode: 'sandbox_failed', message: truncateMessage(messageText) };
}
