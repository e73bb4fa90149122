/** API Gateway's HTTP API: routes a request to a function, throttles, and sends the gateway's own errors, which have a fixed form. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { LambdaFunction } from '../lambda/function.ts';
import { apiLimits } from '../limits.ts';
import type { Recorder } from '../recorder.ts';
import type { HttpRoute, HttpRoutes } from './http-routes.ts';
import { readBody, requestUrl } from './listen.ts';
import { httpApiEvent, type ReceivedRequest } from './proxy-event.ts';
import { parseResult, writeHead } from './proxy-result.ts';

/** On AWS the API has a host of its own. Here it has this path on the port of the REST API, and no event contains it. */
export const startApiPath = '/start-api';

export interface HttpApiParts {
  readonly routes: HttpRoutes;
  /** returns the function of an ARN */
  readonly functionOf: (arn: string) => LambdaFunction | undefined;
  readonly recorder: Recorder;
  readonly warn: (line: string) => void;
  /** in milliseconds, monotonic */
  readonly now?: () => number;
}

/** What the gateway answers itself: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-troubleshooting.html */
const gatewayErrors = {
  notFound: { status: 404, message: 'Not Found' },
  tooLarge: { status: 413, message: 'Request Entity Too Large' },
  throttled: { status: 429, message: 'Too Many Requests' },
  /** the function failed, or its result is not a valid response */
  failed: { status: 500, message: 'Internal Server Error' },
  /** the function was refused, or took too long */
  unavailable: { status: 503, message: 'Service Unavailable' },
} as const;

type GatewayError = (typeof gatewayErrors)[keyof typeof gatewayErrors];

/** Whether the path is one of the HTTP API. */
export const isOfHttpApi = (request: IncomingMessage): boolean => {
  const { pathname } = requestUrl(request);
  return pathname === startApiPath || pathname.startsWith(`${startApiPath}/`);
};

export function httpApiListener(parts: HttpApiParts): RequestListener {
  const takeToken = createBucket(parts.routes.throttle, parts.now ?? (() => performance.now()));
  return (request, response) => {
    serve(parts, takeToken, request, response).catch((error: unknown) => {
      parts.warn(`the HTTP API failed: ${error instanceof Error ? error.message : String(error)}`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };
}

/** A token bucket: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html */
function createBucket({ perSecond, burst }: HttpRoutes['throttle'], now: () => number): () => boolean {
  let tokens = burst;
  let filledAt = now();
  return () => {
    const at = now();
    tokens = Math.min(burst, tokens + ((at - filledAt) * perSecond) / 1_000);
    filledAt = at;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

async function serve(
  parts: HttpApiParts,
  takeToken: () => boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedAt = performance.now();
  const url = requestUrl(request);
  url.pathname = url.pathname.slice(startApiPath.length) || '/';
  const requestId = randomUUID();
  const body = await readBody(request, apiLimits.payloadBytes);
  const route = parts.routes.find(request.method ?? 'GET', url.pathname);
  const refusal =
    route === undefined
      ? gatewayErrors.notFound
      : body === 'too large'
        ? gatewayErrors.tooLarge
        : !takeToken()
          ? gatewayErrors.throttled
          : await integrate(parts, route, { request, url, body, requestId, receivedAt: new Date() }, response);
  if (refusal !== undefined) {
    response
      .writeHead(refusal.status, { 'content-type': 'application/json', 'apigw-requestid': requestId })
      .end(JSON.stringify({ message: refusal.message }));
  }
  parts.recorder.record({
    caller: 'client',
    service: 'apigatewayv2',
    operation: `${request.method} ${route?.resource ?? url.pathname}`,
    input: undefined,
    requestBytes: body === 'too large' ? apiLimits.payloadBytes : body.length,
    status: response.statusCode,
    response: Buffer.alloc(0),
    tookMs: performance.now() - startedAt,
  });
}

/** Sends the function's response, or returns what the gateway answers in its place. */
async function integrate(
  { functionOf, routes }: HttpApiParts,
  route: HttpRoute,
  received: ReceivedRequest,
  response: ServerResponse,
): Promise<GatewayError | undefined> {
  const { functionArn, timeoutMs } = route.integration;
  const target = functionOf(functionArn);
  if (target === undefined) return gatewayErrors.failed;
  const timeoutAbort = new AbortController();
  // The function continues after the gateway has timed out, as on AWS.
  const timedOut = wait(timeoutMs, 'timed_out' as const, { signal: timeoutAbort.signal }).catch(() => 'timed_out' as const);
  const outcome = await Promise.race([target.invoke(JSON.stringify(httpApiEvent(received, route, routes))), timedOut]);
  timeoutAbort.abort();
  if (outcome === 'timed_out') return gatewayErrors.unavailable;
  if (outcome.kind === 'refused')
    return outcome.code === 'RequestTooLargeException' ? gatewayErrors.tooLarge : gatewayErrors.unavailable;
  // An HTTP API does not stream.
  const result = outcome.kind === 'returned' ? parseResult(outcome.payload) : undefined;
  if (result === undefined) return gatewayErrors.failed;
  writeHead(response, result.head, { 'apigw-requestid': received.requestId });
  response.end(result.body);
  return undefined;
}
