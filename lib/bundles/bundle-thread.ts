/** One thread with the HTTP bundles of a deployment. It handles several requests at once; all of them fail when the thread ends. */
import { defined } from '../base/defined.ts';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { DeploymentId, Scope } from '../engine/ids.ts';
import type { DurationMs } from '../engine/time.ts';
import { errorText } from '../engine/error-text.ts';
import type { JsonValue } from '../engine/json.ts';
import { findBodyError } from '../engine/validate-json.ts';
import {
  type BundleRequest,
  type BundleResult,
  type WebhookRequest,
  type WebhookResponse,
  type WebhookResult,
  maxWebhookResponseBytes,
} from '../ports/bundles.ts';
import type { WorldCalls } from '../ports/world-calls.ts';
import { type DevKitTerms, type ThreadRequest, type ThreadWebhook, type WorldAnswered, fromThread } from './messages.ts';
import { type PrintedLines, printedLines, responseLimits } from './code-output.ts';
import { environmentOf, bundleThreadFile, threadFile } from './thread-start.ts';

/** A line that deployed code printed. `runId` is present only while the thread handles a single message. */
export interface PrintedLine {
  readonly deploymentId: DeploymentId;
  readonly runId?: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface ThreadSettings {
  readonly deploymentId: DeploymentId;
  /** folder of the unpacked artifact */
  readonly folder: string;
  /** heap limit in MiB; buffers are outside of the heap and not counted */
  readonly memoryMb: number;
  readonly print: (line: PrintedLine) => void;
  /** environment variables for the code */
  readonly variables: Readonly<Record<string, string>>;
  /** present: an app of the Workflow DevKit */
  readonly devKit?: DevKitTerms & { readonly scope: Scope; readonly world: WorldCalls };
}

export interface BundleCall extends CallTerms {
  readonly request: BundleRequest;
}

export interface WebhookCall extends CallTerms {
  readonly token: string;
  readonly request: WebhookRequest;
}

interface CallTerms {
  /** path in the artifact */
  readonly bundle: string;
  /** current credentials as environment variables; the variables of the thread's start may have expired */
  readonly credentialVariables: Readonly<Record<string, string>>;
  /** for the whole request, including the import */
  readonly timeoutMs: DurationMs;
  /** for the import; an import that exceeds it counts as unloadable, because a retry would hang too */
  readonly importTimeoutMs: DurationMs;
  readonly signal: AbortSignal;
}

type ThreadAnswer = BundleResult | WebhookResult;

interface Pending {
  readonly runId: string | undefined;
  hasLoaded: boolean;
  readonly settle: (answer: ThreadAnswer) => void;
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
      // `thread-main.ts` sends printed output as messages. Capturing the streams keeps stray output out of the function's log.
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

  /** Never rejects. A timeout or an abort ends the thread, and with it all other requests on it. */
  async deliver(call: BundleCall): Promise<BundleResult> {
    const runId = call.request.headers['x-workflow-run-id'];
    const answer = await this.#ask(call, runId, (id) => this.#message(id, call));
    return answer.kind === 'answered' || answer.kind === 'no_hook' ? invalidResponse('is one of a webhook') : answer;
  }

  /** As a delivery. */
  async resumeWebhook(call: WebhookCall): Promise<WebhookResult> {
    const answer = await this.#ask(call, undefined, (id) => this.#webhookMessage(id, call));
    return answer.kind === 'responded' ? { kind: 'crashed', message: 'the response is one of a bundle' } : answer;
  }

  #ask(
    { timeoutMs, importTimeoutMs, signal }: CallTerms,
    runId: string | undefined,
    message: (id: number) => ThreadRequest | ThreadWebhook,
  ): Promise<ThreadAnswer> {
    if (!this.#isAlive) return Promise.resolve({ kind: 'crashed', message: 'the thread ended before the request started' });
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const stop = (answer: ThreadAnswer): void => {
        settle(answer);
        void this.end('the thread was ended because another message on it timed out');
      };
      const onAbort = (): void => stop({ kind: 'timed_out' });
      const timer = setTimeout(onAbort, timeoutMs);
      const importTimer = setTimeout(() => {
        if (this.#pending.get(id)?.hasLoaded === false)
          stop({ kind: 'unloadable', message: `the bundle was not imported within ${importTimeoutMs} ms` });
      }, importTimeoutMs);
      const settle = (answer: ThreadAnswer): void => {
        if (!this.#pending.has(id)) return;
        for (const lines of Object.values(this.#lines)) lines.flush();
        this.#pending.delete(id);
        clearTimeout(timer);
        clearTimeout(importTimer);
        signal.removeEventListener('abort', onAbort);
        if (this.isIdle) this.#worker.unref();
        resolve(answer);
      };
      this.#pending.set(id, { runId, hasLoaded: false, settle });
      this.#worker.ref();
      signal.addEventListener('abort', onAbort, { once: true });
      this.#worker.postMessage(message(id));
      if (signal.aborted) onAbort();
    });
  }

  #terms(id: number, { bundle, credentialVariables, timeoutMs }: CallTerms): Omit<ThreadWebhook, 'kind' | 'token' | 'request'> {
    const { devKit } = this.#settings;
    return {
      id,
      ...(devKit === undefined ? {} : { devKit: { deploymentId: devKit.deploymentId, specVersion: devKit.specVersion } }),
      endsAt: Date.now() + timeoutMs,
      credentialVariables,
      bundle: pathToFileURL(join(this.#settings.folder, bundle)).href,
    };
  }

  #webhookMessage(id: number, { token, request, ...call }: WebhookCall): ThreadWebhook {
    return { kind: 'webhook', ...this.#terms(id, call), token, request };
  }

  #message(id: number, { request, ...call }: BundleCall): ThreadRequest {
    const { bundle } = call;
    return {
      kind: 'request',
      ...this.#terms(id, call),
      url: `http://localhost/${bundle.replace(/\.m?js$/, '')}`,
      headers: request.headers,
      body: JSON.stringify(request.body),
    };
  }

  async end(reason = 'the thread was ended'): Promise<void> {
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
    // The author's code can write to the same port. Messages outside of the protocol are ignored.
    if (message === undefined) return;
    if (message.kind === 'printed') return this.#lines[message.stream].add(message.text);
    if (message.kind === 'world_call') return void this.#callWorld(message.call, message.method, message.body);
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.kind === 'loaded') pending.hasLoaded = true;
    else if (message.kind === 'responded') pending.settle(parseBundleResponse(message.status, message.body));
    else if (message.kind === 'webhook_answered') pending.settle(webhookResponse(message));
    else if (message.kind === 'no_hook') pending.settle({ kind: 'no_hook' });
    else pending.settle({ kind: message.kind === 'threw' ? 'crashed' : 'unloadable', message: message.message });
  }

  /** Makes a call of the World for the thread. The scope is always the deployment's. The thread cannot choose it. */
  async #callWorld(call: number, method: string, body: string): Promise<void> {
    const { devKit } = this.#settings;
    if (devKit === undefined) return;
    const result = await resultOf(() => devKit.world.call(devKit.scope, method, parseJson(body)));
    if (this.#isAlive) this.#worker.postMessage({ kind: 'world_answered', call, result } satisfies WorldAnswered);
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

const invalidResponse = (reason: string): BundleResult => ({ kind: 'crashed', message: `the response ${reason}` });

/** The thread checks the size while it reads, and its code may have changed that. */
const webhookResponse = ({ status, headers, body }: WebhookResponse): WebhookResult =>
  body.byteLength > maxWebhookResponseBytes
    ? { kind: 'crashed', message: `the response is larger than ${maxWebhookResponseBytes} bytes` }
    : { kind: 'answered', response: { status, headers, body } };

/**
 * Validates the HTTP response that a thread returns. A body that is not JSON counts as absent. A body that cannot be stored makes the
 * response invalid. Messages never quote the response, because it is untrusted.
 */
export function parseBundleResponse(status: number, text: string): BundleResult {
  if (Buffer.byteLength(text) > responseLimits.bodyBytes)
    return invalidResponse(`is larger than ${responseLimits.bodyBytes} bytes`);
  let body: JsonValue;
  try {
    body = JSON.parse(text);
  } catch {
    return { kind: 'responded', status, body: undefined };
  }
  const finding = findBodyError(body);
  return finding === undefined ? { kind: 'responded', status, body } : invalidResponse(finding.message);
}

function parseJson(text: string): JsonValue {
  const body: JsonValue = JSON.parse(text);
  return body;
}

async function resultOf(call: () => Promise<WorldAnswered['result']>): Promise<WorldAnswered['result']> {
  try {
    return await call();
  } catch (error) {
    return { kind: 'failed', reason: 'transport', message: describeError(error) };
  }
}
