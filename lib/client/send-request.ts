/** Sends one request, retries it if that is safe, and parses its response. */
import { defined } from '../base/defined.ts';
import type * as z from 'zod';
import type { Route, RouteBody } from '../api/route.ts';
import { isOnStartApi } from '../api/start-api.ts';
import {
  type RequestContext,
  type RawResponse,
  parseResponse,
  correlationHeader,
  errorFromResponse,
  readRetryAfterMs,
} from './parse-response.ts';
import { TransportComputeClientError } from './errors.ts';
import type { Tolerant } from './tolerant-schema.ts';
import type { ClientConfig } from './options.ts';
import { type FailedAttempt, sendWithRetry } from './retry-policy.ts';
import { withTimeout } from './with-timeout.ts';

export interface CallOptions {
  /** when it is aborted, the call throws its reason */
  readonly signal?: AbortSignal;
  /** at most 128 letters, digits and `._:-`; default: a new id for each call */
  readonly correlationId?: string;
}

export interface RequestParts {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  /** sent with the body as the file of a form */
  readonly file?: Uint8Array<ArrayBuffer>;
  readonly idempotencyKey?: string | undefined;
  /** the body contains an idempotency key */
  readonly bodyHasIdempotencyKey?: boolean;
}

/** @param schema the schema of the route's response */
export const sendRequest = <Schema extends z.ZodType>(
  config: ClientConfig,
  route: Route,
  schema: Schema,
  requestParts: RequestParts,
  options: CallOptions = {},
): Promise<Tolerant<z.output<Schema>>> =>
  sendAndParse(config, route, requestParts, options, (response, context) => parseResponse(response, schema, context));

/** For a route with several responses. @param parse gets a response with a status that the route declares */
export const sendAndParse = async <Parsed>(
  config: ClientConfig,
  route: Route,
  requestParts: RequestParts,
  { signal, correlationId = config.newId() }: CallOptions,
  parse: (response: RawResponse, context: RequestContext) => Parsed,
): Promise<Parsed> => {
  const { operationId, action } = route;
  const requestContext = { operationId, correlationId };
  const hasIdempotencyKey = requestParts.idempotencyKey !== undefined || requestParts.bodyHasIdempotencyKey === true;
  const url = `${isOnStartApi(operationId) ? config.startUrl : config.baseUrl}${resolvePath(route, requestParts)}`;
  const init = createRequestInit(config, route, requestParts, correlationId);
  const response = await sendWithRetry(config, { operationId, action, hasIdempotencyKey }, signal, async () => {
    const outcome = await sendOnce(config, { url, init, requestContext, signal });
    if ('error' in outcome || Object.hasOwn(route.responses, outcome.status)) return outcome;
    return { error: errorFromResponse(outcome, requestContext), retryAfterMs: readRetryAfterMs(outcome.headers) };
  });
  return parse(response, requestContext);
};

/** Any response, or the error of the connection. */
export const sendOnce = async (
  { fetchImpl, sleep, timeoutMs }: Pick<ClientConfig, 'fetchImpl' | 'sleep' | 'timeoutMs'>,
  {
    url,
    init,
    requestContext,
    signal,
  }: { url: string; init: RequestInit; requestContext: RequestContext; signal: AbortSignal | undefined },
): Promise<RawResponse | FailedAttempt> => {
  const transportError = (kind: 'network' | 'timeout', message: string, cause?: unknown): FailedAttempt => ({
    error: new TransportComputeClientError({
      ...requestContext,
      kind,
      status: 0,
      message: `${requestContext.operationId}: ${message}`,
      cause,
    }),
    retryAfterMs: undefined,
  });
  try {
    const timedResult = await withTimeout(timeoutMs, { sleep, signal }, async (timeoutSignal) => {
      const response = await fetchImpl(url, { ...init, signal: timeoutSignal });
      return { status: response.status, headers: response.headers, text: await response.text() };
    });
    return timedResult.isInTime ? timedResult.value : transportError('timeout', `no response within ${timeoutMs} ms`);
  } catch (cause) {
    signal?.throwIfAborted();
    return transportError('network', 'the service is unreachable, or its response was interrupted', cause);
  }
};

/** Validates the path parameters before sending, because a value such as `..` would address another route. */
export const resolvePath = ({ operationId, path, params: schema }: Route, { params = {}, query = {} }: RequestParts): string => {
  const issue = schema?.safeParse(params).error?.issues[0];
  if (issue !== undefined) throw new TypeError(`${operationId}: ${issue.path.join('/')} ${issue.message}`);
  const resolvedPath = path.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => encodeURIComponent(params[name] ?? ''));
  const searchParams = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) searchParams.set(key, String(value));
  return searchParams.size === 0 ? resolvedPath : `${resolvedPath}?${searchParams.toString()}`;
};

const createRequestInit = (
  { apiKey }: ClientConfig,
  { method, body: routeBody }: Route,
  { body, file, idempotencyKey }: RequestParts,
  correlationId: string,
): RequestInit => {
  const form = file === undefined ? undefined : createForm(routeBody, JSON.stringify(body), file);
  return defined({
    method,
    headers: defined({
      Accept: 'application/json',
      Authorization: `Bearer ${apiKey}`,
      [correlationHeader]: correlationId,
      // fetch sets the content type of a form, with its boundary.
      'Content-Type': body === undefined || form !== undefined ? undefined : 'application/json',
      'Idempotency-Key': idempotencyKey,
    }),
    body: body === undefined ? undefined : (form ?? JSON.stringify(body)),
    // The key must not be sent to the target of a redirect.
    redirect: 'manual',
  });
};

const createForm = (routeBody: RouteBody | undefined, text: string, file: Uint8Array<ArrayBuffer>): FormData => {
  if (routeBody?.form === undefined) throw new TypeError('this route accepts no file');
  const form = new FormData();
  form.append(routeBody.form.text, text);
  form.append(routeBody.form.file, new Blob([file], { type: 'application/gzip' }), routeBody.form.file);
  return form;
};
