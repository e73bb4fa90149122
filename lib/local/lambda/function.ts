/** A function of the template with its threads: created on demand, reused while they live, replaced when they crash. */
import { randomUUID } from 'node:crypto';
import { type AsyncInvokeConfig, defaultAsyncInvokeConfig } from './async-invoke.ts';
import { lambdaLimits } from '../limits.ts';
import { invocationTraceHeader, invocationsIn, maxInvocationsPerChain } from './lineage.ts';
import type { CallDelay } from '../recorder.ts';
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
  /** Default: about a minute, and ten for what people wait for. */
  readonly idleTimes?: IdleTimes;
  /** Default: Lambda's behaviour without an EventInvokeConfig. */
  readonly asyncInvoke?: AsyncInvokeConfig;
  readonly callDelay?: CallDelay | undefined;
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
  /** Starts a thread that loads the module, so that its first caller does not wait for it. Its last thread then stays for longer. */
  keepLoaded(): void;
  /** Why Lambda would refuse an invocation with this trace header; undefined: it would not. */
  recursionError(traceHeader: string | undefined): string | undefined;
  /** `event` is JSON text. */
  invoke(event: string, cause?: InvocationCause): Promise<InvokeOutcome | Refused>;
  /** Waits for running invocations, for at most `graceMs` and for streams half a second, and ends all threads. */
  stop(graceMs: number): Promise<void>;
}

/** How long a thread waits for its next invocation before it ends. A thread takes 50 MB, and a new one needs 200 ms. */
interface IdleTimes {
  readonly threadMs: number;
  /** of the last thread of a function that people wait for, once it has answered */
  readonly keptMs: number;
}

/** Longer than a minute, so that the sweep of each minute keeps its thread. */
const defaultIdleTimes: IdleTimes = { threadMs: 65_000, keptMs: 600_000 };

interface IdleThread {
  readonly thread: Thread;
  /** by `performance.now()` */
  readonly since: number;
  readonly hasAnswered: boolean;
}

/** The threads of a function. The most recently used one that lives runs the next invocation. */
class ThreadPool {
  readonly #settings: FunctionSettings;
  readonly #idleTimes: IdleTimes;
  /** the most recently used last */
  readonly #idle: IdleThread[] = [];
  readonly #threads = new Set<Thread>();
  #keepsLast = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(settings: FunctionSettings) {
    this.#settings = settings;
    this.#idleTimes = settings.idleTimes ?? defaultIdleTimes;
  }

  acquire(): Thread {
    for (let newest = this.#idle.pop(); newest !== undefined; newest = this.#idle.pop()) {
      if (newest.thread.isAlive()) return newest.thread;
      this.#threads.delete(newest.thread);
    }
    const thread = startThread(this.#settings);
    this.#threads.add(thread);
    return thread;
  }

  release(thread: Thread): void {
    if (thread.isAlive()) this.#addIdle(thread, true);
    else this.#threads.delete(thread);
  }

  keepLoaded(): void {
    this.#keepsLast = true;
    this.#addIdle(this.acquire(), false);
  }

  stopTimer(): void {
    clearTimeout(this.#idleTimer);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.stop()));
  }

  #addIdle(thread: Thread, hasAnswered: boolean): void {
    this.#idle.push({ thread, since: performance.now(), hasAnswered });
    this.#endIdle();
  }

  /** Ends the threads that have been idle for too long, the longest first, and does it again when the next one has. */
  #endIdle(): void {
    clearTimeout(this.#idleTimer);
    for (let longest = this.#idle[0]; longest !== undefined; longest = this.#idle[0]) {
      const isKept = this.#keepsLast && this.#idle.length === 1 && longest.hasAnswered;
      const remainingMs = longest.since + (isKept ? this.#idleTimes.keptMs : this.#idleTimes.threadMs) - performance.now();
      if (remainingMs > 0) {
        this.#idleTimer = setTimeout(() => this.#endIdle(), Math.ceil(remainingMs)).unref();
        return;
      }
      this.#idle.shift();
      this.#threads.delete(longest.thread);
      void longest.thread.stop();
    }
  }
}

/** How many invocations of a function run at once, and its part of the account's concurrency. */
class ConcurrencySlots {
  readonly #limit: number;
  readonly #isReserved: boolean;
  readonly #account: Account | undefined;
  readonly #waiting: (() => void)[] = [];
  #busyCount = 0;

  constructor({ concurrency, isReserved, account }: FunctionSettings) {
    this.#limit = concurrency;
    this.#isReserved = isReserved;
    this.#account = isReserved ? undefined : account;
  }

  isThrottled(): boolean {
    if (this.#isReserved) return this.#busyCount >= this.#limit;
    return this.#account !== undefined && this.#account.running >= this.#account.concurrency;
  }

  /**
   * Takes a slot. Undefined: it is free now. Else it settles when an invocation ends or the function stops. In AWS the invocation would
   * run now, so one that waits for a thread counts towards the account's concurrency.
   */
  take(): Promise<void> | undefined {
    this.#count(1);
    // The ending invocation hands its slot over, so the count does not change.
    if (this.#busyCount >= this.#limit) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#busyCount++;
    return undefined;
  }

  release(): void {
    this.#count(-1);
    const next = this.#waiting.shift();
    if (next === undefined) this.#busyCount--;
    else next();
  }

  /** For an invocation whose wait ended because the function stops: it has no slot. */
  abandon(): void {
    this.#count(-1);
  }

  endWaits(): void {
    for (const next of this.#waiting.splice(0)) next();
  }

  #count(change: 1 | -1): void {
    if (this.#account !== undefined) this.#account.running += change;
  }
}

const stopping: Refused = { kind: 'refused', code: 'ServiceException', message: 'The embedded cloud is stopping' };

const tooLarge = (bytes: number): Refused => {
  const message = `Request must be smaller than ${lambdaLimits.payloadBytes} bytes for the InvokeFunction operation, and has ${bytes}`;
  return { kind: 'refused', code: 'RequestTooLargeException', message };
};

async function runOn(
  pool: ThreadPool,
  settings: FunctionSettings,
  { event, traceHeader, onChunk }: { readonly event: string; readonly traceHeader: string; readonly onChunk: ChunkReader },
): Promise<InvokeOutcome> {
  await settings.callDelay?.('lambda', 'Invocation');
  const startedAt = performance.now();
  const thread = pool.acquire();
  const outcome = await thread.invoke(event, randomUUID(), traceHeader, onChunk);
  pool.release(thread);
  const failed = outcome.kind === 'failed';
  if (failed) settings.warn(`${settings.name}: ${outcome.error.errorType}: ${outcome.error.errorMessage}`);
  settings.onInvoked({ tookMs: performance.now() - startedAt, requestBytes: Buffer.byteLength(event), failed });
  return outcome;
}

function recursionErrorOf(settings: FunctionSettings, traceHeader: string | undefined): string | undefined {
  const invocations = invocationsIn(traceHeader, settings.arn);
  if (settings.recursiveLoop === 'Allow' || invocations < maxInvocationsPerChain) return undefined;
  return `${settings.name}: this would be invocation ${invocations + 1} in one chain of requests, and RecursiveLoop of the function is Terminate`;
}

/** A stream of events lasts as long as its reader watches, who reconnects with the id of the last event. */
const streamGraceMs = 500;

/** The invocations at work, which a stop waits for. */
class RunningInvocations {
  readonly #buffered = new Set<Promise<unknown>>();
  readonly #streamed = new Set<Promise<unknown>>();

  async settled<Result>(invocation: Promise<Result>, isStreamed: boolean): Promise<Result> {
    const among = isStreamed ? this.#streamed : this.#buffered;
    among.add(invocation);
    try {
      return await invocation;
    } finally {
      among.delete(invocation);
    }
  }

  async waitForEnd(graceMs: number): Promise<void> {
    const within = (invocations: ReadonlySet<Promise<unknown>>, ms: number): Promise<unknown> =>
      Promise.race([Promise.allSettled(invocations), new Promise((resolve) => setTimeout(resolve, ms).unref())]);
    await Promise.all([within(this.#buffered, graceMs), within(this.#streamed, Math.min(graceMs, streamGraceMs))]);
  }
}

export function createFunction(settings: FunctionSettings): LambdaFunction {
  const pool = new ThreadPool(settings);
  const slots = new ConcurrencySlots(settings);
  const running = new RunningInvocations();
  let stopped = false;
  let isEnding = false;
  const warn = (line: string): void => {
    if (!isEnding) settings.warn(line);
  };

  const recursionError = (traceHeader: string | undefined) => recursionErrorOf(settings, traceHeader);

  /** Why Lambda refuses the invocation before any code runs. */
  function refusalOf(event: string, traceHeaders: readonly (string | undefined)[]): Refused | undefined {
    if (stopped) return stopping;
    const bytes = Buffer.byteLength(event);
    if (bytes > lambdaLimits.payloadBytes) return tooLarge(bytes);
    const message = traceHeaders.map(recursionError).find((found) => found !== undefined);
    if (message !== undefined) return { kind: 'refused', code: 'RecursiveInvocationException', message };
    if (!slots.isThrottled()) return undefined;
    settings.onThrottled?.(bytes);
    return { kind: 'refused', code: 'TooManyRequestsException', message: 'Rate Exceeded.' };
  }

  return {
    name: settings.name,
    arn: settings.arn,
    concurrency: settings.concurrency,
    timeoutMs: settings.timeoutMs,
    asyncInvoke: settings.asyncInvoke ?? defaultAsyncInvokeConfig,
    keepLoaded: () => pool.keepLoaded(),
    recursionError,
    async invoke(event, { onChunk, traceHeaders = [] } = {}) {
      const refusal = refusalOf(event, traceHeaders);
      if (refusal !== undefined) return refusal;
      const waiting = slots.take();
      if (waiting !== undefined) {
        await waiting;
        if (stopped) {
          slots.abandon();
          return stopping;
        }
      }
      const collected = collectChunks();
      const traceHeader = invocationTraceHeader(settings.arn, traceHeaders, Date.now());
      const invocation = runOn(pool, { ...settings, warn }, { event, traceHeader, onChunk: onChunk ?? collected.onChunk });
      try {
        const outcome = await running.settled(invocation, onChunk !== undefined);
        return outcome.kind === 'streamed' && onChunk === undefined ? { kind: 'returned', payload: collected.text() } : outcome;
      } finally {
        slots.release();
      }
    },
    async stop(graceMs) {
      stopped = true;
      pool.stopTimer();
      slots.endWaits();
      await running.waitForEnd(graceMs);
      // What still runs now ends with its thread, which is not a failure of the function.
      isEnding = true;
      await pool.stop();
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
