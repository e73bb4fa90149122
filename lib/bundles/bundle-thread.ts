/** One thread with a deployment's code: any number of requests may be on it at once, and all of them end when it does. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { DeploymentId } from '../engine/ids.ts';
import type { DurationMs } from '../engine/time.ts';
import { wordsOf } from '../engine/words-of.ts';
import type { BundleAnswer, BundleRequest } from '../ports/bundles.ts';
import { answerLimits } from './answer-limits.ts';
import { answered } from './answered.ts';
import { type PrintedLines, printedLines } from './printed-lines.ts';
import { environmentOf } from './thread-environment.ts';
import { bundleThreadFile, threadFile } from './thread-file.ts';
import { type ThreadRequest, fromThread } from './thread-messages.ts';

/** A line that code printed. `runId` is there while one run's message alone is on the thread. */
export interface PrintedLine {
  readonly deploymentId: DeploymentId;
  readonly runId?: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface ThreadSettings {
  readonly deploymentId: DeploymentId;
  /** the artifact, unpacked */
  readonly folder: string;
  /** of the heap; buffers are beside it and not counted */
  readonly memoryMb: number;
  readonly print: (line: PrintedLine) => void;
  /** of the author's own */
  readonly variables: Readonly<Record<string, string>>;
}

export interface Call {
  /** its path in the artifact */
  readonly bundle: string;
  readonly request: BundleRequest;
  /** variables that have changed since the thread began: credentials end */
  readonly lent: Readonly<Record<string, string>>;
  /** for all of it, the import included */
  readonly timeoutMs: DurationMs;
  /** for the import alone: code that waits for ever while it loads is no better the next time */
  readonly importMs: DurationMs;
  readonly signal: AbortSignal;
}

interface Pending {
  readonly runId: string | undefined;
  hasLoaded: boolean;
  readonly settle: (answer: BundleAnswer) => void;
}

export class BundleThread {
  readonly #worker: Worker;
  readonly #settings: ThreadSettings;
  readonly #pending = new Map<number, Pending>();
  readonly #lines: Readonly<Record<PrintedLine['stream'], PrintedLines>>;
  #lastId = 0;
  #isAlive = true;

  constructor(settings: ThreadSettings) {
    this.#settings = settings;
    this.#worker = new Worker(threadFile(bundleThreadFile), {
      env: environmentOf(settings.deploymentId, settings.variables),
      execArgv: [],
      // Nothing is written to its own streams: `thread-main.ts` sends what is printed. Not to the function's own, in any case.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: settings.memoryMb },
      name: `deployment ${settings.deploymentId}`,
    });
    this.#lines = { stdout: this.#read('stdout'), stderr: this.#read('stderr') };
    this.#worker.on('message', (message: unknown) => this.#hear(message));
    let broke: string | undefined;
    this.#worker.on('error', (error: unknown) => {
      this.#isAlive = false;
      broke = `the code broke its thread: ${described(error)}`;
    });
    this.#worker.on('exit', (code) => {
      this.#isAlive = false;
      this.#abandon(broke ?? `the code ended its thread with code ${code}`);
    });
    this.#worker.unref();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  /** Never rejects. When its time is over or the signal comes, the thread is ended, and whatever else is on it with it. */
  deliver(call: Call): Promise<BundleAnswer> {
    if (!this.#isAlive) return Promise.resolve({ kind: 'crashed', message: 'its thread ended before it' });
    const { request, timeoutMs, importMs, signal } = call;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const stop = (answer: BundleAnswer): void => {
        settle(answer);
        void this.end('it was ended because another message on it took too long');
      };
      const onAbort = (): void => stop({ kind: 'timed_out' });
      const timer = setTimeout(onAbort, timeoutMs);
      const importTimer = setTimeout(() => {
        if (this.#pending.get(id)?.hasLoaded === false)
          stop({ kind: 'unloadable', message: `the bundle was not imported within ${importMs} ms` });
      }, importMs);
      const settle = (answer: BundleAnswer): void => {
        if (!this.#pending.has(id)) return;
        for (const lines of Object.values(this.#lines)) lines.flush();
        this.#pending.delete(id);
        clearTimeout(timer);
        clearTimeout(importTimer);
        signal.removeEventListener('abort', onAbort);
        if (this.isIdle) this.#worker.unref();
        resolve(answer);
      };
      this.#pending.set(id, { runId: request.headers['x-workflow-run-id'], hasLoaded: false, settle });
      this.#worker.ref();
      signal.addEventListener('abort', onAbort, { once: true });
      this.#worker.postMessage(this.#message(id, call));
      if (signal.aborted) onAbort();
    });
  }

  #message(id: number, { bundle, request, lent }: Call): ThreadRequest {
    return {
      id,
      lent,
      bundle: pathToFileURL(join(this.#settings.folder, bundle)).href,
      url: `http://localhost/${bundle.replace(/\.js$/, '')}`,
      headers: request.headers,
      body: JSON.stringify(request.body),
    };
  }

  async end(why = 'it was ended'): Promise<void> {
    this.#isAlive = false;
    this.#abandon(why);
    await this.#worker.terminate();
  }

  #abandon(why: string): void {
    const isAlone = this.#pending.size === 1;
    for (const { hasLoaded, settle } of this.#pending.values())
      settle({ kind: isAlone && !hasLoaded ? 'unloadable' : 'crashed', message: why });
  }

  #hear(said: unknown): void {
    const { data: message } = fromThread.safeParse(said);
    // The author's code can write to the same port: what is no message of the protocol is nothing.
    if (message === undefined) return;
    if (message.kind === 'printed') return this.#lines[message.stream].add(message.text);
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.kind === 'loaded') pending.hasLoaded = true;
    else if (message.kind === 'answered') pending.settle(answered(message.status, message.body));
    else pending.settle({ kind: message.kind === 'threw' ? 'crashed' : 'unloadable', message: message.message });
  }

  #read(stream: PrintedLine['stream']): PrintedLines {
    const { deploymentId, print } = this.#settings;
    return printedLines((text) => {
      const [only, ...others] = this.#pending.values();
      const runId = others.length === 0 ? only?.runId : undefined;
      print({ deploymentId, ...(runId === undefined ? {} : { runId }), stream, text });
    });
  }
}

const described = (error: unknown): string => wordsOf(error).slice(0, answerLimits.message);
