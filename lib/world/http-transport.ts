/** The calls of a World over HTTP. */
import { defined } from '../base/defined.ts';
import { type RetryPolicy, retryOutcome } from '../base/retry.ts';
import { decodeTagged, encodeTagged } from './tagged-json.ts';
import { type CallBody, type CallResult, type WorldMethod, type WorldTransport, isRepeatable } from './calls.ts';
import { parseErrorBody } from './answers.ts';
import { refusalText } from './errors.ts';
import { type Connection, variables, worldScope } from './settings.ts';

interface Route {
  readonly method: 'GET' | 'POST';
  /** `{name}` is a property of the body; the other properties of a GET are its query */
  readonly path: string;
}

const post = (path: string): Route => ({ method: 'POST', path });
const get = (path: string): Route => ({ method: 'GET', path });

export const worldRoutes: Readonly<Record<WorldMethod, Route>> = {
  'events.create': post('/v1/world/events/create'),
  'events.createBatch': post('/v1/world/events/create-batch'),
  'events.list': post('/v1/world/events/list'),
  'events.listByCorrelationId': post('/v1/world/events/list-by-correlation'),
  'events.get': post('/v1/world/events/get'),
  'runs.get': get('/v1/world/runs/{runId}'),
  'runs.list': post('/v1/world/runs/list'),
  'steps.get': get('/v1/world/steps/{stepId}'),
  'steps.list': post('/v1/world/steps/list'),
  'hooks.get': get('/v1/world/hooks/{hookId}'),
  'hooks.getByToken': get('/v1/world/hooks/by-token/{token}'),
  'hooks.list': post('/v1/world/hooks/list'),
  'streams.write': post('/v1/world/streams/write'),
  'streams.close': post('/v1/world/streams/close'),
  'streams.chunks': post('/v1/world/streams/chunks'),
  'streams.info': post('/v1/world/streams/info'),
  'streams.list': get('/v1/world/streams/list'),
  'uploads.create': post('/v1/world/uploads'),
  encryptionKey: post('/v1/world/encryption-key'),
  'queue.publish': post('/v1/queue/publish'),
  deploymentId: get('/v1/world/deployment-id'),
  'apps.register': post('/v1/world/apps'),
};

export interface HttpTools {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly sleep: (ms: number) => Promise<unknown>;
  /** from 0 up to 1 */
  readonly random: () => number;
  /** of one attempt, with its answer */
  readonly timeoutMs: number;
}

/** The gateway gives up after 29 s, and its answer says more than a timeout of this side. */
const attemptTimeoutMs = 30_000;

export const systemTools: HttpTools = {
  // Resolved on each call, so that a replaced global fetch is used. Node keeps its connections alive.
  fetch: (url, init) => fetch(url, init),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
  timeoutMs: attemptTimeoutMs,
};

/** A longer wait is for the SDK, which puts its message back into the queue. */
const maxRequestedDelayMs = 2_000;
const retryLimits = { attempts: 4, backoff: { baseMs: 100, factor: 3, jitter: 0.5 } } as const;

/** @param connect is called at the first call */
export class HttpTransport implements WorldTransport {
  readonly #connect: () => Connection;
  readonly #tools: HttpTools;

  constructor(connect: () => Connection, tools: HttpTools = systemTools) {
    this.#connect = connect;
    this.#tools = tools;
  }

  async call(method: WorldMethod, body: CallBody): Promise<CallResult> {
    const connection = this.#connect();
    const policy: RetryPolicy<CallResult> = {
      ...retryLimits,
      isRetryable: (result) => shouldRetry(method, result),
      requestedDelayMs: (result) => (result.kind === 'refused' ? (result.retryAfter ?? 0) * 1_000 : undefined),
    };
    return retryOutcome(() => this.#attempt(connection, method, body), policy, this.#tools);
  }

  async #attempt(connection: Connection, method: WorldMethod, body: CallBody): Promise<CallResult> {
    const signal = AbortSignal.timeout(this.#tools.timeoutMs);
    try {
      const { url, init } = requestOf(connection, method, body);
      const response = await this.#tools.fetch(url, { ...init, redirect: 'manual', signal });
      return readAnswer(response.status, response.headers, await response.text());
    } catch (cause) {
      if (signal.aborted)
        return { kind: 'failed', reason: 'timeout', message: `no answer within ${this.#tools.timeoutMs} ms`, cause };
      const message = `the service is unreachable, or the connection was interrupted${reasonOf(cause)}`;
      return { kind: 'failed', reason: 'transport', message, cause, isUnsent: isUnsent(cause) };
    }
  }
}

function shouldRetry(method: WorldMethod, result: CallResult): boolean {
  if (result.kind === 'answered') return false;
  if (result.kind === 'failed') return result.isUnsent === true || (isRepeatable(method) && result.reason === 'transport');
  if ((result.retryAfter ?? 0) * 1_000 > maxRequestedDelayMs) return false;
  // A refused call was not executed. A gateway that answers 502 or 504 may have passed it on.
  return [429, 503].includes(result.status) || (isRepeatable(method) && [502, 504].includes(result.status));
}

/** Codes of Node and undici for connections that were never established. */
const unsentCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];

const isUnsent = (cause: unknown): boolean => unsentCodes.includes(codeOf(cause) ?? '');
const reasonOf = (cause: unknown): string => {
  const code = codeOf(cause);
  return code === undefined ? '' : ` (${code})`;
};

/** `fetch` wraps the error of the connection, sometimes with those of several addresses. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return codeOf(error.cause);
}

function requestOf(
  { baseUrl, apiKey, app }: Connection,
  method: WorldMethod,
  body: CallBody,
): { url: string; init: RequestInit } {
  const route = worldRoutes[method];
  const inPath = new Set<string>();
  const path = route.path.replace(/\{(\w+)\}/g, (_placeholder, name: string) => {
    inPath.add(name);
    return encodeURIComponent(String(body[name]));
  });
  const headers: Record<string, string> = { Authorization: `Bearer ${apiKey}`, Accept: 'application/json' };
  if (route.method === 'POST') {
    headers['Content-Type'] = 'application/json';
    const content = method === 'apps.register' ? defined({ app, ...body }) : body;
    return { url: `${baseUrl}${path}`, init: { method: 'POST', headers, body: JSON.stringify(encodeTagged(content)) } };
  }
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(method === 'deploymentId' ? { app, ...body } : body))
    if (typeof value === 'string' && !inPath.has(name)) query.set(name, value);
  return { url: `${baseUrl}${path}${query.size === 0 ? '' : `?${query.toString()}`}`, init: { method: 'GET', headers } };
}

function readAnswer(status: number, headers: Headers, text: string): CallResult {
  let parsed: unknown;
  try {
    parsed = text === '' ? null : JSON.parse(text);
    if (status >= 200 && status < 300) return { kind: 'answered', value: decodeTagged(parsed) };
  } catch {
    if (status < 300) return { kind: 'refused', status: 502, code: 'UNREADABLE_ANSWER', message: 'the answer is not readable' };
  }
  const { code, message = `the service answered with status ${status}`, retryAfter, ...reasons } = parseErrorBody(parsed);
  return {
    kind: 'refused',
    status,
    // The gateway refuses a larger request in a form of its own.
    code: code ?? (status === contentTooLarge ? 'payload_too_large' : `HTTP_${status}`),
    message: refusalText({ message, ...reasons, recovery: keyRecoveries.get(code ?? '') ?? reasons.recovery }),
    ...defined({ retryAfter: retryAfter ?? secondsOf(headers.get('retry-after')) }),
  };
}

const contentTooLarge = 413;

const createKey = `npx stepwell keys create --scopes ${worldScope}`;
/** The service speaks of headers, and an application has a variable. */
const keyRecoveries: ReadonlyMap<string, string> = new Map([
  ['unauthorized', `Set ${variables.apiKey} to a valid key: ${createKey}.`],
  ['missing_scope', `Set ${variables.apiKey} to a key with that scope: ${createKey}.`],
]);

const secondsOf = (header: string | null): number | undefined =>
  header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
