/** API Gateway's REST API: routes a request to a function, returns its response, and sends the gateway's own errors. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { LambdaFunction, Refused } from '../lambda/function.ts';
import type { InvokeOutcome } from '../lambda/thread.ts';
import type { Recorder } from '../recorder.ts';
import type { GatewayResponses, GatewayResponseType } from './gateway-responses.ts';
import { apiLimits } from '../limits.ts';
import { requestUrl, readBody } from './listen.ts';
import { proxyEvent, type ReceivedRequest } from './proxy-event.ts';
import { parseResult, restRequestId, streamTo, writeHead } from './proxy-result.ts';
import type { Route, Routes } from './routes.ts';

export interface RestApiParts {
  readonly routes: Routes;
  readonly responses: GatewayResponses;
  /** returns the function of an ARN */
  readonly functionOf: (arn: string) => LambdaFunction | undefined;
  readonly recorder: Recorder;
  readonly warn: (line: string) => void;
}

type SentResponse = { readonly status: number; readonly bytes: number };

export const restApiListener =
  (parts: RestApiParts): RequestListener =>
  (request, response) => {
    serve(parts, request, response).catch((error: unknown) => {
      parts.warn(`the API failed: ${error instanceof Error ? error.message : String(error)}`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };

async function serve(parts: RestApiParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const startedAt = performance.now();
  const url = requestUrl(request);
  const requestId = randomUUID();
  const body = await readBody(request, apiLimits.payloadBytes);
  const route = parts.routes.find(request.method ?? 'GET', url.pathname);
  const refuse = createRefuse(parts, response, requestId, route, request, url);
  const sent =
    route === undefined
      ? refuse('MISSING_AUTHENTICATION_TOKEN')
      : body === 'too large'
        ? refuse('REQUEST_TOO_LARGE')
        : await integrate(parts, route, { request, url, body, requestId, receivedAt: new Date() }, response, refuse);
  parts.recorder.record({
    caller: 'client',
    service: 'apigateway',
    operation: `${request.method} ${route?.resource ?? url.pathname}`,
    input: undefined,
    requestBytes: body === 'too large' ? apiLimits.payloadBytes : body.length,
    status: sent.status,
    response: Buffer.alloc(0),
    tookMs: performance.now() - startedAt,
  });
}

type Refuse = (type: GatewayResponseType) => SentResponse;

const createRefuse =
  (
    parts: RestApiParts,
    response: ServerResponse,
    requestId: string,
    route: Route | undefined,
    request: IncomingMessage,
    url: URL,
  ): Refuse =>
  (type) => {
    const { status, headers, body } = parts.responses.render(type, {
      requestId,
      extendedRequestId: requestId,
      apiId: parts.routes.apiId,
      stage: parts.routes.stage,
      path: `/${parts.routes.stage}${url.pathname}`,
      httpMethod: request.method ?? '',
      resourcePath: route?.resource ?? '',
    });
    response.writeHead(status, { 'x-amzn-requestid': requestId, 'x-amzn-errortype': type, ...headers }).end(body);
    return { status, bytes: Buffer.byteLength(body) };
  };

async function integrate(
  parts: RestApiParts,
  route: Route,
  received: ReceivedRequest,
  response: ServerResponse,
  refuse: Refuse,
): Promise<SentResponse> {
  const target = parts.functionOf(route.method.functionArn);
  if (target === undefined) return refuse('INTEGRATION_FAILURE');
  const event = JSON.stringify(proxyEvent(received, route, parts.routes));
  const responseStream = route.method.isStreaming ? streamTo(response, received.requestId) : undefined;
  const timeoutAbort = new AbortController();
  // The function continues after the gateway has timed out, as on AWS.
  const timedOut = wait(route.method.timeoutMs, 'timed_out' as const, { signal: timeoutAbort.signal }).catch(
    () => 'timed_out' as const,
  );
  const outcome = await Promise.race([target.invoke(event, { onChunk: responseStream?.onChunk }), timedOut]);
  timeoutAbort.abort();
  if (outcome === 'timed_out') {
    if (responseStream?.hasStarted() !== true) return refuse('INTEGRATION_TIMEOUT');
    response.end();
    return { status: 200, bytes: 0 };
  }
  if (responseStream?.hasStarted() === true) {
    // A response that has begun cannot become an error: the broken connection tells the client to resume.
    if (outcome.kind === 'streamed') response.end();
    else response.destroy();
    return { status: response.statusCode, bytes: 0 };
  }
  return respond(outcome, response, received.requestId, refuse, route.method.isStreaming);
}

function respond(
  outcome: InvokeOutcome | Refused,
  response: ServerResponse,
  requestId: string,
  refuse: Refuse,
  isStreaming: boolean,
): SentResponse {
  if (outcome.kind === 'refused') {
    return refuse(outcome.code === 'RequestTooLargeException' ? 'REQUEST_TOO_LARGE' : 'INTEGRATION_FAILURE');
  }
  // A streaming method whose function did not stream, or sent no complete prelude, fails on AWS too.
  const result = outcome.kind === 'returned' && !isStreaming ? parseResult(outcome.payload) : undefined;
  if (result === undefined) return refuse('DEFAULT_5XX');
  writeHead(response, result.head, restRequestId(requestId));
  response.end(result.body);
  return { status: result.head.statusCode, bytes: result.body.length };
}
