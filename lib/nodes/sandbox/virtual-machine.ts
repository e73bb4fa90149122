/**
 * Runs scripts, each in a QuickJS machine without a trace of another script. The interrupt handler stops loops of the script. Loops inside QuickJS's native functions
 * (classes of a regular expression, BigInt, `normalize`, a `join` over 2^53 elements) do not call it, so the machine runs on a thread
 * that can be terminated (`thread-sandbox.ts`).
 */
import type { JSValueHandle } from 'quickjs-wasi';
import { jsonLimits } from '../../engine/validate-json.ts';
import { errorText } from '../../engine/error-text.ts';
import { collectPrintedLines } from '../../engine/log/event-limits.ts';
import { type Script, type ScriptEnd, type StopReason, scriptLimits, sliceSpent, timeLimit } from './script.ts';
import { ScriptMachine } from './script-machine.ts';
import { type ScriptResult, truncateMessage, fileName, scriptPrefix, parseScriptResult } from './script-result.ts';

/** Monotonic time. It bounds this process and is not recorded. */
const elapsedSince = (start: bigint): number => Number((process.hrtime.bigint() - start) / 1_000_000n);

/** CPU time of this thread, in milliseconds. A busy machine must not count against the script. */
const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

export type MachineEnd = ScriptEnd | { readonly kind: typeof sliceSpent };

/** Runs scripts of one thread, one after the other. The function that it returns never rejects. */
export function createScriptRunner(wasm: WebAssembly.Module): (script: Script) => Promise<MachineEnd> {
  /** for the next script with the same limit of memory */
  let idle: ScriptMachine | undefined;
  return async (script) => {
    const kept = idle?.memoryBytes === script.memoryBytes ? idle : undefined;
    // A machine that throws is not used again, and not disposed: freeing a machine that ran out of memory can trap.
    idle = undefined;
    return runScript(script, async (run) => {
      const machine = kept ?? (await ScriptMachine.create(wasm, script.memoryBytes));
      const raw = run(machine);
      if (!machine.hasGrown()) idle = machine;
      return raw;
    });
  };
}

/** @param withMachine calls its parameter with a machine, and returns what that returns */
async function runScript(
  script: Script,
  withMachine: (run: (machine: ScriptMachine) => string) => Promise<string>,
): Promise<MachineEnd> {
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
    const raw = await withMachine((machine) => {
      machine.begin({ shouldStop, print: (line) => printed.add(line) });
      return evaluate(machine, script);
    });
    // An interrupted job is a rejected promise and not an exception, so timeouts are also checked here.
    if (isSliceSpent && !isTimedOut) return { kind: sliceSpent };
    return toScriptEnd(isTimedOut ? { kind: 'stopped', ...timeLimit(script.timeoutMs) } : parseScriptResult(raw, script.code));
  } catch (error) {
    if (isSliceSpent && !isTimedOut) return { kind: sliceSpent };
    return toScriptEnd({ kind: 'stopped', ...(isTimedOut ? timeLimit(script.timeoutMs) : stopReasonOf(error)) });
  }
}

/** @returns the prelude's report of how the script ended */
function evaluate({ machine, prelude, print }: ScriptMachine, script: Script): string {
  const host = machine.callFunction(
    prelude,
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
