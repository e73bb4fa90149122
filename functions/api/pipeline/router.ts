/** Routes requests to operations by the route table, and turns responses and refusals into HTTP responses. */
import router from '@middy/http-router';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { Readable } from 'node:stream';
import { createErrorEnvelope } from '../../../lib/api/error-body.ts';
import { errorCatalogue, type ErrorCode } from '../../../lib/api/errors.ts';
import type { Route } from '../../../lib/api/route.ts';
import { type OperationId, routes } from '../../../lib/api/routes.ts';
import { runIdPattern } from '../../../lib/engine/ids.ts';
import { traceFields } from '../../../lib/engine/trace.ts';
import { type AnyOperation, type AnyOperations, type AnyResponse, type Refusal, refuse, type CommonTools } from '../operation.ts';
import { isPreflight, preflight } from './cors.ts';
import { handleRoute } from './handle-route.ts';
import { callOf, type HttpCall, type HttpResponse, type RoutedResponse } from './http-call.ts';
import { traceIn } from './tracing.ts';

export type RequestHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<HttpResponse>;

export const createRouter = (tools: CommonTools, operations: AnyOperations): RequestHandler => {
  const handledRoutes = routes.flatMap((route: Route & { operationId: OperationId }) => {
    const operation = operations[route.operationId];
    return operation === undefined
      ? []
      : [{ method: route.method, path: route.path, handler: handlerOf(tools, route, operation) }];
  });
  const handler = router<APIGatewayProxyEvent, RoutedResponse>({
    routes: handledRoutes,
    notFoundResponse: () => undefined,
  });
  return async (event, context) => {
    const { stream, ...operationResponse } = (await handler(event, context)) ?? unmatchedResponse(tools, event);
    return stream === undefined ? operationResponse : { ...operationResponse, body: stream };
  };
};

const handlerOf =
  (tools: CommonTools, route: Route, operation: AnyOperation) =>
  async (event: APIGatewayProxyEvent): Promise<RoutedResponse> => {
    const trace = traceIn(event);
    const call = callOf(event);
    const operationResponse = await handleRoute(tools, route, operation, call, trace);
    const response = respond(operationResponse, trace.correlationId);
    tools.logger.info('request handled', {
      ...traceFields(trace),
      ...runFact(operationResponse, call),
      operation: route.operationId,
      status: response.statusCode,
    });
    return response;
  };

/** The run id of the request, if it has one. */
const runFact = ({ audit }: AnyResponse, { params }: HttpCall): { readonly runId?: string } => {
  const runId = audit?.facts?.['runId'] ?? params['runId'];
  return typeof runId === 'string' && runIdPattern.test(runId) ? { runId } : {};
};

const unmatchedResponse = (tools: CommonTools, event: APIGatewayProxyEvent): RoutedResponse => {
  const allowed = routes.filter(({ path }) => matches(path, event.path)).map(({ method }) => method);
  if (allowed.length > 0 && isPreflight(tools, event)) return preflight(allowed);
  const refusal =
    allowed.length === 0 ? refuse('not_found') : { ...refuse('method_not_allowed'), headers: { allow: allowed.join(', ') } };
  return respond(refusal, traceIn(event).correlationId);
};

/** A parameter matches one path segment. A trailing slash is ignored. */
const matches = (template: string, path: string): boolean => {
  const templateSegments = template.split('/');
  const pathSegments = path.replace(/\/$/, '').split('/');
  return (
    templateSegments.length === pathSegments.length &&
    templateSegments.every((segment, at) => segment.startsWith('{') || segment === pathSegments[at])
  );
};

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };
/** Long enough for a throttled table to recover, short enough for a client to wait. */
const retryAfterSeconds = 2;

export const respond = (response: AnyResponse, correlationId: string): RoutedResponse => {
  if ('refused' in response) return refusalResponse(response, correlationId);
  const statusCode = Number(response.status);
  if ('stream' in response) {
    const stream = response.stream === undefined ? {} : { stream: Readable.from(response.stream) };
    return { statusCode, headers: response.headers ?? {}, body: '', ...stream };
  }
  return { statusCode, headers: { ...jsonHeaders, ...response.headers }, body: JSON.stringify(response.body) };
};

const refusalResponse = ({ refused, details, headers }: Refusal, correlationId: string): RoutedResponse => ({
  statusCode: errorCatalogue[refused].status,
  headers: { ...jsonHeaders, ...headersOf(refused), ...headers },
  body: JSON.stringify(createErrorEnvelope(refused, correlationId, details)),
});

/** No `www-authenticate` with a 401: API Gateway renames that header of a function's response, so clients would not find it. */
const headersOf = (code: ErrorCode): Readonly<Record<string, string>> =>
  code === 'unavailable' ? { 'retry-after': String(retryAfterSeconds) } : {};
