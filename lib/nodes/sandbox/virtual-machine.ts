/**
 * One script in one fresh QuickJS machine. The interrupt stops loops that run as script; loops inside QuickJS's own
 * functions (a regular expression's classes, BigInt, `normalize`, a `join` over 2^53 places) look at no interrupt, so
 * the machine lives on a thread that can be killed (`thread-sandbox.ts`).
 */
import { JSException, type JSValueHandle, QuickJS } from 'quickjs-wasi';
import { prelude } from './prelude.ts';
import { type Printed, collectPrinted } from './printed.ts';
import { type Script, type ScriptEnd, type StopReason, scriptLimits, timeLimit } from './script.ts';

const opening = '(function(){';
const fileName = 'script.js';
/** Of the 1 MiB that the WebAssembly module has; deeper recursion is an exception and not a crash. */
const stackBytes = 262_144;
const longestMessage = 2_000;

/** A bound on this machine, not a fact of the run: taken from the clock that nobody sets. */
const elapsedSince = (start: bigint): number => Number((process.hrtime.bigint() - start) / 1_000_000n);

export async function runInMachine(wasm: WebAssembly.Module, script: Script): Promise<ScriptEnd> {
  const start = process.hrtime.bigint();
  const printed = collectPrinted();
  let isOver = false;
  const machine = await QuickJS.create({
    wasm,
    memoryLimit: script.memoryBytes,
    maxStackSize: stackBytes,
    timezoneOffset: 0,
    interruptHandler: () => (isOver ||= elapsedSince(start) > script.timeoutMs),
  });
  try {
    const answer = evaluate(machine, script, printed);
    return answered(answer, printed.lines());
  } catch (trouble) {
    const fault = isOver ? timeLimit(script.timeoutMs) : faultOf(trouble);
    return { kind: 'stopped', ...fault, printed: [...printed.lines()] };
  }
  // The machine is dropped with its instance: freeing one that ran out of memory in the middle of something can trap.
}

/** `json:…` or the reason why there is none, as the prelude puts it. */
function evaluate(machine: QuickJS, script: Script, printed: Printed): string {
  const print = machine.newFunction('print', (line?: JSValueHandle) => {
    if (line?.isString === true) printed.add(line.toString());
    return machine.undefined;
  });
  const encode = machine.callFunction(
    machine.evalCode(prelude, 'prelude.js'),
    machine.undefined,
    print,
    machine.newString(script.context),
    machine.newString(script.inputs),
    machine.newNumber(scriptLimits.outputBytes),
    machine.newNumber(scriptLimits.printedBytes),
  );
  const result = machine.evalCode(`${opening}${script.code}\n})()`, fileName);
  // What the script queued belongs to it: it runs now, under the same limits, or never.
  machine.executePendingJobs();
  return machine.callFunction(encode, machine.undefined, result).toString();
}

function answered(answer: string, printed: readonly string[]): ScriptEnd {
  const [reason = '', ...rest] = answer.split(':');
  const text = answer.slice(reason.length + 1);
  if (reason === 'json' && Buffer.byteLength(text) <= scriptLimits.outputBytes)
    return { kind: 'returned', output: text, printed: [...printed] };
  if (reason === 'output_invalid' && rest.length > 0)
    return { kind: 'stopped', fault: 'output_invalid', message: cut(text), printed: [...printed] };
  const message = `the result is larger than ${scriptLimits.outputBytes} bytes of JSON`;
  return { kind: 'stopped', fault: 'output_too_large', message, printed: [...printed] };
}

function faultOf(trouble: unknown): StopReason {
  if (!(trouble instanceof Error)) return { fault: 'sandbox_failed', message: cut(String(trouble)) };
  const { name, message } = trouble;
  const place = trouble instanceof JSException ? placeOf(trouble.stack ?? '') : {};
  if (/maximum call stack size/i.test(message))
    return { fault: 'recursion_exceeded', message: 'the script calls itself too deeply', ...place };
  if (/out of memory|string too long|invalid array buffer length/i.test(message))
    return { fault: 'memory_exceeded', message: 'the script needs more memory than it may have', ...place };
  if (trouble instanceof JSException) return { fault: 'script_threw', message: cut(thrown(trouble)), ...place };
  // Thrown by the machine for a queued job: it carries the script's own error in words only.
  if (message.startsWith('Job execution error: ')) return { fault: 'script_threw', message: cut(message.slice(21)) };
  return { fault: 'sandbox_failed', message: cut(`${name}: ${message}`) };
}

/** What was thrown, in words. A primitive that is no error is told by its value. */
const thrown = ({ name, message, handle }: JSException): string =>
  handle.isObject || handle.isSymbol ? `${name}: ${message}` : `${handle.toString()} was thrown`;

/** The innermost place inside the script; what stands before the author's first character is taken off. */
const placeOf = (stack: string): { readonly line?: number; readonly column?: number } => {
  const found = /\(script\.js:(\d+):(\d+)\)/.exec(stack);
  if (found === null) return {};
  const line = Number(found[1]);
  const column = Number(found[2]) - (line === 1 ? opening.length : 0);
  return column < 1 ? { line } : { line, column };
};

const cut = (text: string): string => (text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text);
