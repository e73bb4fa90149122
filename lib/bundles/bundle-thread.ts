/** One thread with a deployment's code: any number of requests may be on it at once, and all of them end when it does. */
import { defined } from '../engine/defined.ts';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { DeploymentId } from '../engine/ids.ts';
import type { DurationMs } from '../engine/time.ts';
import { errorText } from '../engine/error-text.ts';
import type { BundleResult, BundleRequest } from '../ports/bundles.ts';
import { responseLimits } from './response-limits.ts';
import { parseBundleResponse } from './parse-bundle-response.ts';
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

export interface BundleCall {
  /** its path in the artifact */
  readonly bundle: string;
  readonly request: BundleRequest;
  /** variables that have changed since the thread began: credentials end */
  readonly credentialVariables: Readonly<Record<string, string>>;
  /** for all of it, the import included */
  readonly timeoutMs: DurationMs;
  /** for the import alone: code that waits for ever while it loads is no better the next time */
  readonly importTimeoutMs: DurationMs;
  readonly signal: AbortSignal;
}

interface Pending {
  readonly runId: string | undefined;
  hasLoaded: boolean;
  readonly settle: (answer: BundleResult) => void;
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
    this.#lines = { stdout: this.#printer('stdout'), stderr: this.#printer('stderr') };
    this.#worker.on('message', (message: unknown) => this.#onMessage(message));
    let crashMessage: string | undefined;
    this.#worker.on('error', (error: unknown) => {
      this.#isAlive = false;
      crashMessage = `the code broke its thread: ${describeError(error)}`;
    });
    this.#worker.on('exit', (code) => {
      this.#isAlive = false;
      this.#failPending(crashMessage ?? `the code ended its thread with code ${code}`);
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
  deliver(call: BundleCall): Promise<BundleResult> {
    if (!this.#isAlive) return Promise.resolve({ kind: 'crashed', message: 'its thread ended before it' });
    const { request, timeoutMs, importTimeoutMs, signal } = call;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const stop = (answer: BundleResult): void => {
        settle(answer);
        void this.end('it was ended because another message on it took too long');
      };
      const onAbort = (): void => stop({ kind: 'timed_out' });
      const timer = setTimeout(onAbort, timeoutMs);
      const importTimer = setTimeout(() => {
        if (this.#pending.get(id)?.hasLoaded === false)
          stop({ kind: 'unloadable', message: `the bundle was not imported within ${importTimeoutMs} ms` });
      }, importTimeoutMs);
      const settle = (answer: BundleResult): void => {
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

  #message(id: number, { bundle, request, credentialVariables }: BundleCall): ThreadRequest {
    return {
      id,
      credentialVariables,
      bundle: pathToFileURL(join(this.#settings.folder, bundle)).href,
      url: `http://localhost/${bundle.replace(/\.js$/, '')}`,
      headers: request.headers,
      body: JSON.stringify(request.body),
    };
  }

  async end(reason = 'it was ended'): Promise<void> {
    this.#isAlive = false;
    this.#failPending(reason);
    await this.#worker.terminate();
  }

  #failPending(reason: string): void {
    const isAlone = this.#pending.size === 1;
    for (const { hasLoaded, settle } of this.#pending.values())
      settle({ kind: isAlone && !hasLoaded ? 'unloadable' : 'crashed', message: reason });
  }

  #onMessage(raw: unknown): void {
    const { data: message } = fromThread.safeParse(raw);
    // The author's code can write to the same port: what is no message of the protocol is nothing.
    if (message === undefined) return;
    if (message.kind === 'printed') return this.#lines[message.stream].add(message.text);
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.kind === 'loaded') pending.hasLoaded = true;
    else if (message.kind === 'responded') pending.settle(parseBundleResponse(message.status, message.body));
    else pending.settle({ kind: message.kind === 'threw' ? 'crashed' : 'unloadable', message: message.message });
  }

  #printer(stream: PrintedLine['stream']): PrintedLines {
    const { deploymentId, print } = this.#settings;
    return printedLines((text) => {
      const [only, ...others] = this.#pending.values();
      const runId = others.length === 0 ? only?.runId : undefined;
      print(defined({ deploymentId, runId, stream, text }));
    });
  }
}

const describeError = (error: unknown): string => errorText(error).slice(0, responseLimits.message);
