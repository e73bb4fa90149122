/** The common shape of the HTTP functions: a router by the route table, wrapped in the middleware. */
import middy from '@middy/core';
import type { PluginExecutionMode } from '@middy/core';
import headerNormalizer from '@middy/http-header-normalizer';
import router from '@middy/http-router';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { Route } from '../../../lib/api/route.ts';
import { runIdPattern } from '../../../lib/engine/ids.ts';
import { traceFields } from '../../../lib/engine/trace.ts';
import {
  type AnyOperation,
  type AnyOperations,
  type AnyResponse,
  type CommonTools,
  type Served,
  asAnyOperations,
  refuse,
} from '../operation.ts';
import { handleRoute } from './handle-route.ts';
import { type HttpCall, type HttpResponse, type RoutedResponse, callOf, respond } from './http-call.ts';
import { cors, errorEnvelope, isPreflight, preflight, securityHeaders, traceIn, tracing } from './middleware.ts';

type RequestHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<HttpResponse>;

/** Routes requests to operations by the function's part of the route table. */
const createRouter = <Using extends CommonTools>(
  tools: Using,
  routes: Served<Route['servedBy']>['routes'],
  operations: AnyOperations<Using>,
): RequestHandler => {
  const handledRoutes = routes.flatMap((route) => {
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
    const { stream, ...operationResponse } = (await handler(event, context)) ?? unmatchedResponse(tools, routes, event);
    return stream === undefined ? operationResponse : { ...operationResponse, body: stream };
  };
};

const handlerOf =
  <Using extends CommonTools>(tools: Using, route: Route, operation: AnyOperation<Using>) =>
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

const unmatchedResponse = (tools: CommonTools, routes: readonly Route[], event: APIGatewayProxyEvent): RoutedResponse => {
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

/** Time before the function's timeout at which middy aborts, so that the response can still be sent. */
const timeoutEarlyInMillis = 500;

export const httpFunction = <ServedBy extends Route['servedBy'], Using extends CommonTools>(
  tools: Using,
  { routes, operations }: Served<ServedBy, Using>,
  options: { executionMode?: PluginExecutionMode } = {},
) =>
  middy<APIGatewayProxyEvent, HttpResponse>({ timeoutEarlyInMillis, ...options })
    .use(headerNormalizer())
    .use(tracing())
    .use(securityHeaders())
    .use(cors(tools.decider.deps.settings))
    // The middleware added last handles an error first: it creates the response, and the others add their headers.
    .use(errorEnvelope(tools.logger))
    .handler(createRouter(tools, routes, asAnyOperations(operations)));
