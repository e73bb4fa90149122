/**
 * One script in one fresh QuickJS machine. The interrupt stops loops that run as script; loops inside QuickJS's own
 * functions (a regular expression's classes, BigInt, `normalize`, a `join` over 2^53 places) look at no interrupt, so
 * the machine lives on a thread that can be killed (`thread-sandbox.ts`).
 */
import { type JSValueHandle, QuickJS } from 'quickjs-wasi';
import { treeLimits } from '../../engine/tree.ts';
import { wordsOf } from '../../engine/words-of.ts';
import { prelude } from './prelude.ts';
import { type Printed, collectPrinted } from '../../engine/log/printed.ts';
import { type Script, type ScriptEnd, type StopReason, scriptLimits, sliceSpent, timeLimit } from './script.ts';
import { type Verdict, cutWords, fileName, opening, readVerdict } from './verdict.ts';

/** Of the 1 MiB that the WebAssembly module has; deeper recursion is an exception and not a crash. */
const stackBytes = 262_144;

/** A bound on this machine, not a fact of the run: taken from the clock that nobody sets. */
const elapsedSince = (start: bigint): number => Number((process.hrtime.bigint() - start) / 1_000_000n);

/** Of this thread, in milliseconds. A machine that is busy with others takes longer, and a script is not to pay for that. */
const computed = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Never rejects, whatever the script is or does. */
export async function runInMachine(
  wasm: WebAssembly.Module,
  script: Script,
): Promise<ScriptEnd | { readonly kind: typeof sliceSpent }> {
  const start = process.hrtime.bigint();
  const computedBefore = computed();
  const printed = collectPrinted();
  let isOver = false;
  let isSpent = false;
  const endedAs = (verdict: Verdict): ScriptEnd => ({
    ...verdict,
    printed: [...printed.lines()],
    computedMs: computed() - computedBefore,
  });
  const isStopped = (): boolean => {
    isOver ||= elapsedSince(start) > script.timeoutMs;
    isSpent ||= script.sliceMs !== undefined && computed() - computedBefore > script.sliceMs;
    return isOver || isSpent;
  };
  try {
    const machine = await QuickJS.create({
      wasm,
      memoryLimit: script.memoryBytes,
      maxStackSize: stackBytes,
      timezoneOffset: 0,
      interruptHandler: isStopped,
    });
    const said = evaluate(machine, script, printed);
    // A job that was interrupted is a rejected promise and no exception: the script came to its end for lack of time.
    if (isSpent && !isOver) return { kind: sliceSpent };
    return endedAs(isOver ? { kind: 'stopped', ...timeLimit(script.timeoutMs) } : readVerdict(said, script.code));
  } catch (trouble) {
    if (isSpent && !isOver) return { kind: sliceSpent };
    return endedAs({ kind: 'stopped', ...(isOver ? timeLimit(script.timeoutMs) : faultOf(trouble)) });
  }
  // The machine is dropped with its instance: freeing one that ran out of memory in the middle of something can trap.
}

/** How the script ended, as the prelude puts it. */
function evaluate(machine: QuickJS, script: Script, printed: Printed): string {
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
    machine.newNumber(treeLimits.levels),
    machine.newNumber(scriptLimits.words),
  );
  const [run, finish] = [host.getProp('run'), host.getProp('finish')];
  const body = machine.evalCode(`${opening}${script.code}\n})`, fileName);
  const ended = saidBy(machine.callFunction(run, machine.undefined, body));
  if (ended !== '') return ended;
  // What the script queued belongs to it: it runs now, under the same limits, or never.
  machine.executePendingJobs();
  return saidBy(machine.callFunction(finish, machine.undefined));
}

/** To make a text of anything else would run the script's code. */
const saidBy = (answer: JSValueHandle): string => (answer.isString ? answer.toString() : 'nothing');

/**
 * What came past the prelude, which catches all that a script can throw: the machine's own words about its limits, or about a
 * text that is no program.
 */
function faultOf(trouble: unknown): StopReason {
  const words = wordsOf(trouble);
  if (/maximum call stack size/i.test(words))
    return { fault: 'recursion_exceeded', message: 'the script calls itself too deeply' };
  if (/out of memory|string too long|invalid (array buffer|string) length/i.test(words))
    return { fault: 'memory_exceeded', message: 'the script needs more memory than it may have' };
  if (words.startsWith('SyntaxError: ')) return { fault: 'script_threw', message: cutWords(words) };
  return { fault: 'sandbox_failed', message: cutWords(words) };
}
