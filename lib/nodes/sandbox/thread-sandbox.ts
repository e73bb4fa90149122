/**
 * Runs scripts on threads of this process. A thread is reused when its script ends in time. A thread whose script times out or is
 * cancelled is terminated, which also stops loops that ignore interrupts. The event loop stays free, so heartbeats and cancellations
 * are handled while a script runs.
 */
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import { engineFile, threadFile } from './engine-files.ts';
import { TimeSliceExceeded } from '../../engine/fair-shares.ts';
import { errorMessage } from '../../engine/error-text.ts';
import { durationMs } from '../../engine/time.ts';
import { truncateMessage } from './script-result.ts';
import { type Sandbox, type Script, type ScriptEnd, type StopReason, scriptErrorCodes, sliceSpent, timeLimit } from './script.ts';

/** How long a thread may take after the limit to report the timeout and the printed lines itself. */
const graceMs = 250;
/**
 * How long a thread may exceed the slice before it is terminated. The slice is CPU time, and a busy machine may delay the thread.
 * Needed for loops that ignore interrupts.
 */
const sliceGraceMs = 900;
/** Concurrent scripts start more threads, which end after use. */
const maxIdleThreads = 1;

export function threadSandbox(): Sandbox {
  const idle: Worker[] = [];
  let compiled: Promise<WebAssembly.Module> | undefined;

  const startThread = async (): Promise<Worker> => {
    compiled ??= readFile(engineFile()).then((bytes) => WebAssembly.compile(bytes));
    // An empty environment and no flags: a script that escapes from QuickJS finds no credentials.
    const thread = new Worker(threadFile(), { workerData: { wasm: await compiled }, env: {}, execArgv: [], name: 'script' });
    thread.once('exit', () => {
      if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1);
    });
    return new Promise((resolve, reject) => {
      thread.once('message', () => resolve(thread));
      // Stays attached for the thread's lifetime: an unhandled 'error' event would end this process.
      thread.on('error', reject);
      thread.once('exit', (code) => reject(new Error(`the thread ended with code ${code} during its start`)));
    });
  };

  const returnToPool = (thread: Worker): void => {
    thread.unref();
    if (idle.length < maxIdleThreads) idle.push(thread);
    else void thread.terminate();
  };

  return {
    run: async (script, signal) => {
      signal.throwIfAborted();
      let thread: Worker;
      try {
        thread = idle.pop() ?? (await startThread());
      } catch (error) {
        compiled = undefined;
        return { kind: 'stopped', ...sandboxFailure(errorMessage(error)), ...noUsage };
      }
      thread.ref();
      const result = await runOnThread(thread, script, signal);
      if (result.isAlive) returnToPool(thread);
      else void thread.terminate();
      if ('end' in result) return result.end;
      throw result.reason;
    },
  };
}

/** A stopped thread reports neither its printed lines nor its CPU time. */
const noUsage = { printed: [] };

const sandboxFailure = (reason: string): StopReason => ({
  errorCode: 'sandbox_failed',
  message: truncateMessage(`the sandbox failed: ${reason}`),
});

type ThreadResult = { readonly isAlive: boolean } & ({ readonly end: ScriptEnd } | { readonly reason: unknown });

const runOnThread = (thread: Worker, script: Script, signal: AbortSignal): Promise<ThreadResult> =>
  new Promise((resolve) => {
    const settle = (result: ThreadResult): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      thread.off('message', onEnd).off('messageerror', onMessageError).off('error', onCrash).off('exit', onExit);
      resolve(result);
    };
    const stopped = (reason: StopReason): void => settle({ isAlive: false, end: { kind: 'stopped', ...reason, ...noUsage } });
    const settleSliceSpent = (isAlive: boolean): void => settle({ isAlive, reason: new TimeSliceExceeded() });
    // Listeners must not throw: an error in a listener would end this process.
    const onEnd = (raw: unknown): void => {
      const { data: end } = scriptEnd.safeParse(raw);
      if (end === undefined) stopped(sandboxFailure('the thread sent an invalid message'));
      else if (end.kind === sliceSpent) settleSliceSpent(true);
      else settle({ isAlive: true, end });
    };
    const onCrash = (crash: unknown): void => stopped(sandboxFailure(errorMessage(crash)));
    const onExit = (code: number): void => stopped(sandboxFailure(`the thread ended with code ${code}`));
    const onMessageError = (): void => stopped(sandboxFailure('a message of the thread could not be deserialized'));
    const onAbort = (): void => settle({ isAlive: false, reason: signal.reason });
    const limitMs = script.timeoutMs + graceMs;
    const sliceMs = script.sliceMs === undefined ? Infinity : script.sliceMs + sliceGraceMs;
    const timer =
      sliceMs < limitMs
        ? setTimeout(() => settleSliceSpent(false), sliceMs)
        : setTimeout(() => stopped(timeLimit(script.timeoutMs)), limitMs);

    signal.addEventListener('abort', onAbort, { once: true });
    thread.on('message', onEnd).on('messageerror', onMessageError).on('error', onCrash).on('exit', onExit);
    thread.postMessage(script);
    // The abort may have happened while the thread was starting.
    if (signal.aborted) onAbort();
  });

const used = { printed: z.array(z.string()), cpuMs: z.number().min(0).exactOptional() };

/** Parses the messages of a script thread. They are untrusted, because the thread ran an author's code. */
const scriptEnd: z.ZodType<ScriptEnd | { readonly kind: typeof sliceSpent }> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal(sliceSpent) }),
  z.object({ kind: z.literal('returned'), output: z.string(), ...used }),
  z.object({
    kind: z.literal('stopped'),
    errorCode: z.enum(scriptErrorCodes),
    message: z.string(),
    isCodeError: z.literal(true).exactOptional(),
    line: z.number().exactOptional(),
    column: z.number().exactOptional(),
    timeoutMs: z.number().transform(durationMs).exactOptional(),
    path: z.string().exactOptional(),
    ...used,
  }),
]);
