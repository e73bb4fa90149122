/** A function of the template with its threads: created on demand, reused while they live, replaced when they crash. */
import { randomUUID } from 'node:crypto';
import { type AsyncInvokeConfig, defaultAsyncInvokeConfig } from './async-invoke.ts';
import { lambdaLimits } from '../limits.ts';
import { invocationTraceHeader, invocationsIn, maxInvocationsPerChain } from './lineage.ts';
import { startThread, type ChunkReader, type InvokeOutcome, type Thread, type ThreadSettings } from './thread.ts';

/** The account's concurrency, which functions without a reservation share. */
export interface Account {
  readonly concurrency: number;
  running: number;
}

export interface FunctionSettings extends ThreadSettings {
  readonly name: string;
  readonly arn: string;
  /** how many invocations may run at once */
  readonly concurrency: number;
  /** whether the template reserves that number: then a further invocation is refused, as in Lambda, and does not wait */
  readonly isReserved: boolean;
  /** Default: no shared limit. */
  readonly account?: Account;
  /** called when an invocation is refused because too many run */
  readonly onThrottled?: (requestBytes: number) => void;
  /** whether Lambda ends recursive loops of the function; by default it does */
  readonly recursiveLoop: 'Allow' | 'Terminate';
  /** Default: Lambda's behaviour without an EventInvokeConfig. */
  readonly asyncInvoke?: AsyncInvokeConfig;
  /** writes a line to the terminal */
  readonly warn: (line: string) => void;
  readonly onInvoked: (invocation: { readonly tookMs: number; readonly requestBytes: number; readonly failed: boolean }) => void;
}

/** Refused before any code ran. */
export interface Refused {
  readonly kind: 'refused';
  readonly code: 'TooManyRequestsException' | 'RequestTooLargeException' | 'RecursiveInvocationException' | 'ServiceException';
  readonly message: string;
}

export interface InvocationCause {
  /** Receives the chunks of a streaming function; without it they are joined. */
  readonly onChunk?: ChunkReader | undefined;
  /** the trace headers of the callers: one for each message of a batch; none: a new chain of requests starts here */
  readonly traceHeaders?: readonly (string | undefined)[];
}

export interface LambdaFunction {
  readonly name: string;
  readonly arn: string;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** how its asynchronous events are retried */
  readonly asyncInvoke: AsyncInvokeConfig;
  /** Starts a thread that loads the module, so that the first invocation does not wait for it. */
  warm(): void;
  /** Why Lambda would refuse an invocation with this trace header; undefined: it would not. */
  recursionError(traceHeader: string | undefined): string | undefined;
  /** `event` is JSON text. */
  invoke(event: string, cause?: InvocationCause): Promise<InvokeOutcome | Refused>;
  /** Waits for running invocations, for at most `graceMs`, and ends all threads. */
  stop(graceMs: number): Promise<void>;
}

/** A thread takes 60 MB, and a new one needs 200 ms. */
const idleThreadTtlMs = 60_000;

export function createFunction(settings: FunctionSettings): LambdaFunction {
  /** the most recently used last */
  const idle: { readonly thread: Thread; readonly since: number }[] = [];
  const waitingForThread: (() => void)[] = [];
  const running = new Set<Promise<unknown>>();
  const threads = new Set<Thread>();
  let busyCount = 0;
  let stopped = false;

  /** Returns the most recently used thread that lives, and removes dead ones. */
  function acquireThread(): Thread {
    for (let newest = idle.pop(); newest !== undefined; newest = idle.pop()) {
      if (newest.thread.isAlive()) return newest.thread;
      threads.delete(newest.thread);
    }
    const thread = startThread(settings);
    threads.add(thread);
    return thread;
  }

  /** Ends threads that have been idle for a while, except for the most recently used. */
  function stopIdleThreads(): void {
    while (idle.length > 1 && performance.now() - (idle[0]?.since ?? 0) > idleThreadTtlMs) {
      const thread = idle.shift()?.thread;
      if (thread === undefined) return;
      threads.delete(thread);
      void thread.stop();
    }
  }
  const idleThreadTimer = setInterval(stopIdleThreads, idleThreadTtlMs / 2).unref();

  async function run(event: string, traceHeader: string, onChunk: ChunkReader): Promise<InvokeOutcome> {
    const requestId = randomUUID();
    const startedAt = performance.now();
    const thread = acquireThread();
    const outcome = await thread.invoke(event, requestId, traceHeader, onChunk);
    if (thread.isAlive()) idle.push({ thread, since: performance.now() });
    else threads.delete(thread);
    if (outcome.kind === 'failed') settings.warn(`${settings.name}: ${outcome.error.errorType}: ${outcome.error.errorMessage}`);
    settings.onInvoked({
      tookMs: performance.now() - startedAt,
      requestBytes: Buffer.byteLength(event),
      failed: outcome.kind === 'failed',
    });
    return outcome;
  }

  const sharedAccount = settings.isReserved ? undefined : settings.account;
  const isThrottled = (): boolean =>
    settings.isReserved
      ? busyCount >= settings.concurrency
      : sharedAccount !== undefined && sharedAccount.running >= sharedAccount.concurrency;

  function recursionError(traceHeader: string | undefined): string | undefined {
    const invocations = invocationsIn(traceHeader, settings.arn);
    if (settings.recursiveLoop === 'Allow' || invocations < maxInvocationsPerChain) return undefined;
    return `${settings.name}: this would be invocation ${invocations + 1} in one chain of requests, and RecursiveLoop of the function is Terminate`;
  }

  return {
    name: settings.name,
    arn: settings.arn,
    concurrency: settings.concurrency,
    timeoutMs: settings.timeoutMs,
    asyncInvoke: settings.asyncInvoke ?? defaultAsyncInvokeConfig,
    warm() {
      const thread = acquireThread();
      idle.push({ thread, since: performance.now() });
    },
    recursionError,
    async invoke(event, { onChunk, traceHeaders = [] } = {}) {
      if (stopped) return { kind: 'refused', code: 'ServiceException', message: 'The embedded cloud is stopping' };
      const bytes = Buffer.byteLength(event);
      if (bytes > lambdaLimits.payloadBytes) {
        const message = `Request must be smaller than ${lambdaLimits.payloadBytes} bytes for the InvokeFunction operation, and has ${bytes}`;
        return { kind: 'refused', code: 'RequestTooLargeException', message };
      }
      const recursionMessage = traceHeaders.map(recursionError).find((found) => found !== undefined);
      if (recursionMessage !== undefined)
        return { kind: 'refused', code: 'RecursiveInvocationException', message: recursionMessage };
      if (isThrottled()) {
        settings.onThrottled?.(bytes);
        return { kind: 'refused', code: 'TooManyRequestsException', message: 'Rate Exceeded.' };
      }
      // In AWS it would run now, so an invocation that waits for a thread counts towards the account's concurrency.
      if (sharedAccount !== undefined) sharedAccount.running += 1;
      if (busyCount >= settings.concurrency) {
        // The ending invocation hands its thread over, so `busyCount` does not change.
        await new Promise<void>((resolve) => waitingForThread.push(resolve));
        if (stopped) {
          if (sharedAccount !== undefined) sharedAccount.running -= 1;
          return { kind: 'refused', code: 'ServiceException', message: 'The embedded cloud is stopping' };
        }
      } else busyCount++;
      const collected = collectChunks();
      const invocation = run(event, invocationTraceHeader(settings.arn, traceHeaders, Date.now()), onChunk ?? collected.onChunk);
      running.add(invocation);
      try {
        const outcome = await invocation;
        return outcome.kind === 'streamed' && onChunk === undefined ? { kind: 'returned', payload: collected.text() } : outcome;
      } finally {
        running.delete(invocation);
        if (sharedAccount !== undefined) sharedAccount.running -= 1;
        const next = waitingForThread.shift();
        if (next === undefined) busyCount--;
        else next();
      }
    },
    async stop(graceMs) {
      stopped = true;
      clearInterval(idleThreadTimer);
      for (const next of waitingForThread.splice(0)) next();
      const grace = new Promise((resolve) => setTimeout(resolve, graceMs).unref());
      await Promise.race([Promise.allSettled(running), grace]);
      await Promise.all([...threads].map((thread) => thread.stop()));
    },
  };
}

function collectChunks(): { readonly onChunk: ChunkReader; readonly text: () => string } {
  const chunks: Uint8Array[] = [];
  return {
    onChunk: async (bytes) => void chunks.push(bytes),
    text: () => Buffer.concat(chunks).toString('utf8'),
  };
}
