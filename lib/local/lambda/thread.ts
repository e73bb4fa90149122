/** One execution environment of a function: a worker thread that runs one invocation at a time. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import {
  type FromThread,
  type FunctionError,
  type Invocation,
  type ThreadData,
  type ToThread,
  describeThrown,
} from './protocol.ts';
import { defined } from '../../base/defined.ts';
import { lambdaLimits } from '../limits.ts';

export interface ThreadSettings {
  readonly data: ThreadData;
  readonly environment: Readonly<Record<string, string>>;
  /** variables whose values are known only when the cloud runs, read at the start of a thread */
  readonly lateVariables?: () => Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Default: Lambda's. */
  readonly loadTimeoutMs?: number;
  /** opens a port to the gateway for each thread; undefined: its requests use HTTP */
  readonly openGatewayPort?: () => MessagePort;
  /** parent folder of each thread's temporary folder, which is deleted with the thread; undefined: the machine's */
  readonly ephemeral?: string;
  /** what the function prints */
  readonly print: (text: string) => void;
}

/** Receives a streamed response chunk by chunk; the next chunk follows when the promise has settled. */
export interface ChunkReader {
  (bytes: Uint8Array, contentType: string | undefined): Promise<void>;
}

export type InvokeOutcome =
  | { readonly kind: 'returned'; readonly payload: string }
  | { readonly kind: 'streamed'; readonly contentType: string | undefined }
  | { readonly kind: 'failed'; readonly error: FunctionError };

export interface Thread {
  /** false once it has crashed, exited, timed out or was stopped: it takes no further invocation */
  isAlive(): boolean;
  /** `traceHeader`: of the invocation; the function's SDK propagates it */
  invoke(event: string, requestId: string, traceHeader: string, onChunk: ChunkReader): Promise<InvokeOutcome>;
  stop(): Promise<void>;
}

/**
 * A function's module has ten seconds to load. Lambda then loads it once more within the timeout of the invocation, so a longer load
 * counts towards that: https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html
 */
const lambdaLoadTimeoutMs = 10_000;

const runtime = new URL('./runtime.ts', import.meta.url);

type ThreadMessage = FromThread | { readonly kind: 'exited'; readonly error: FunctionError };

export const startThread = (settings: ThreadSettings): Thread => new WorkerThread(settings);

class WorkerThread implements Thread {
  readonly #settings: ThreadSettings;
  readonly #worker: Worker;
  /** settles when the module has loaded, with the error if it could not be loaded */
  readonly #ready: Promise<FunctionError | undefined>;
  /** by `performance.now()`; the load counts towards the timeout of an invocation from here on */
  readonly #loadEndsAt: number;
  #alive = true;
  #listener: (message: ThreadMessage) => void = () => {};

  constructor(settings: ThreadSettings) {
    const { data, print } = settings;
    const folder = temporaryFolder(settings);
    this.#settings = settings;
    const gateway = settings.openGatewayPort?.();
    this.#loadEndsAt = performance.now() + (settings.loadTimeoutMs ?? lambdaLoadTimeoutMs);
    this.#worker = new Worker(runtime, {
      workerData: defined({ ...data, gateway }),
      transferList: gateway === undefined ? [] : [gateway],
      env: { ...settings.environment, ...settings.lateVariables?.(), ...(folder === undefined ? {} : { TMPDIR: folder }) },
      stdout: true,
      stderr: true,
      execArgv: ['--no-warnings'],
      resourceLimits: { maxOldGenerationSizeMb: data.memoryMb },
      name: data.functionName,
    });
    this.#worker.stdout.on('data', (chunk: Buffer) => print(chunk.toString()));
    this.#worker.stderr.on('data', (chunk: Buffer) => print(chunk.toString()));
    this.#worker.once('exit', () => {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    });
    this.#ready = this.#load();
  }

  isAlive(): boolean {
    return this.#alive;
  }

  async invoke(event: string, requestId: string, traceHeader: string, onChunk: ChunkReader): Promise<InvokeOutcome> {
    const { timeoutMs, print } = this.#settings;
    const beginsAt = Math.max(performance.now(), this.#loadEndsAt);
    const loadError = await this.#loaded(beginsAt + timeoutMs);
    if (loadError !== undefined) {
      await this.stop();
      return { kind: 'failed', error: withRequestId(requestId, loadError) };
    }
    const remainingMs = Math.min(timeoutMs, beginsAt + timeoutMs - performance.now());
    return new Promise<InvokeOutcome>((resolve) => {
      const timer = setTimeout(() => {
        const errorMessage = `RequestId: ${requestId} Error: Task timed out after ${(timeoutMs / 1_000).toFixed(2)} seconds`;
        print(`${errorMessage}\n`);
        settle({ kind: 'failed', error: { errorType: 'Sandbox.Timedout', errorMessage } });
        void this.stop();
      }, remainingMs);
      const settle = (outcome: InvokeOutcome): void => {
        clearTimeout(timer);
        this.#listener = () => {};
        resolve(outcome);
      };
      const ack: ToThread = { kind: 'chunk_ack' };
      this.#listener = (message) => {
        if (message.kind === 'chunk')
          void onChunk(message.bytes, message.contentType).finally(() => this.#alive && this.#worker.postMessage(ack));
        else if (message.kind === 'stream_ended') settle({ kind: 'streamed', contentType: message.contentType });
        else if (message.kind === 'returned') settle(checkPayloadSize(message.payload));
        else if (message.kind === 'failed') settle({ kind: 'failed', error: message.error });
        else if (message.kind === 'exited') settle({ kind: 'failed', error: withRequestId(requestId, message.error) });
      };
      const invocation: Invocation = { kind: 'invoke', requestId, event, deadlineAt: Date.now() + remainingMs, traceHeader };
      this.#worker.postMessage(invocation);
    });
  }

  async stop(): Promise<void> {
    this.#alive = false;
    await this.#worker.terminate();
  }

  /** @param endsAt by `performance.now()` */
  async #loaded(endsAt: number): Promise<FunctionError | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<FunctionError>((resolve) => {
      const error = { errorType: 'Sandbox.Timedout', errorMessage: 'The function took too long to load' };
      timer = setTimeout(() => resolve(error), Math.max(0, endsAt - performance.now()));
    });
    try {
      return await Promise.race([this.#ready, tooLate]);
    } finally {
      clearTimeout(timer);
    }
  }

  #load(): Promise<FunctionError | undefined> {
    return new Promise((resolve) => {
      const onExit = (error: FunctionError): void => {
        this.#alive = false;
        resolve(error);
        this.#listener({ kind: 'exited', error });
      };
      this.#worker.on('message', (message: FromThread) => {
        if (message.kind === 'ready') resolve(undefined);
        else if (message.kind === 'load_failed') resolve(message.error);
        else this.#listener(message);
      });
      this.#worker.on('error', (error: unknown) => {
        const errorText = describeThrown(error);
        this.#settings.print(`${error instanceof Error && typeof error.stack === 'string' ? error.stack : errorText}\n`);
        onExit({ errorType: 'Runtime.ExitError', errorMessage: errorText });
      });
      this.#worker.on('exit', (code) =>
        onExit({
          errorType: 'Runtime.ExitError',
          errorMessage: `Runtime exited ${code === 0 ? 'without providing a reason' : `with error: exit status ${code}`}`,
        }),
      );
    });
  }
}

function temporaryFolder({ ephemeral, data }: ThreadSettings): string | undefined {
  if (ephemeral === undefined) return undefined;
  mkdirSync(ephemeral, { recursive: true, mode: 0o700 });
  return mkdtempSync(join(ephemeral, `${data.functionName}-`));
}

const withRequestId = (requestId: string, error: FunctionError): FunctionError =>
  error.errorType === 'Runtime.ExitError'
    ? { ...error, errorMessage: `RequestId: ${requestId} Error: ${error.errorMessage}` }
    : error;

function checkPayloadSize(payload: string): InvokeOutcome {
  const bytes = Buffer.byteLength(payload);
  if (bytes <= lambdaLimits.payloadBytes) return { kind: 'returned', payload };
  const errorMessage = `Response payload size (${bytes} bytes) exceeded maximum allowed payload size (${lambdaLimits.payloadBytes} bytes).`;
  return { kind: 'failed', error: { errorType: 'Function.ResponseSizeTooLarge', errorMessage } };
}
