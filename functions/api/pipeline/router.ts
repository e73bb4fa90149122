/** The router, made from the table: each route of a function to its operation, anything else to 404 or 405. */
import router from '@middy/http-router';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { Route } from '../../../lib/api/route.ts';
import { type OperationId, routes } from '../../../lib/api/routes.ts';
import { runIdPattern } from '../../../lib/engine/ids.ts';
import { traceFields } from '../../../lib/engine/trace.ts';
import { type AnyResponse, type AnyOperation, type AnyOperations, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { handleRoute } from './handle-route.ts';
import { isPreflight, preflight } from './cors.ts';
import { type HttpResponse, type HttpCall, type RoutedResponse, callOf } from './http-call.ts';
import { respond } from './respond.ts';
import { traceIn } from './tracing.ts';

export type RequestHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<HttpResponse>;

export const createRouter = (tools: Tools, operations: AnyOperations): RequestHandler => {
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
  (tools: Tools, route: Route, operation: AnyOperation) =>
  async (event: APIGatewayProxyEvent): Promise<RoutedResponse> => {
    const trace = traceIn(event);
    const call = callOf(event);
    const operationResponse = await handleRoute(tools, route, operation, call, trace);
    const response = respond(operationResponse, trace.correlationId);
    tools.logger.info('answered', {
      ...traceFields(trace),
      ...runFact(operationResponse, call),
      operation: route.operationId,
      status: response.statusCode,
    });
    return response;
  };

/** The run that the request is about, where it is about one. */
const runFact = ({ audit }: AnyResponse, { params }: HttpCall): { readonly runId?: string } => {
  const runId = audit?.facts?.['runId'] ?? params['runId'];
  return typeof runId === 'string' && runIdPattern.test(runId) ? { runId } : {};
};

const unmatchedResponse = (tools: Tools, event: APIGatewayProxyEvent): RoutedResponse => {
  const allowed = routes.filter(({ path }) => matches(path, event.path)).map(({ method }) => method);
  if (allowed.length > 0 && isPreflight(tools, event)) return preflight(allowed);
  const refusal =
    allowed.length === 0 ? refuse('not_found') : { ...refuse('method_not_allowed'), headers: { allow: allowed.join(', ') } };
  return respond(refusal, traceIn(event).correlationId);
};

/** A parameter is one step of the path; a slash at the end changes nothing. */
const matches = (template: string, path: string): boolean => {
  const templateSegments = template.split('/');
  const pathSegments = path.replace(/\/$/, '').split('/');
  return (
    templateSegments.length === pathSegments.length &&
    templateSegments.every((segment, at) => segment.startsWith('{') || segment === pathSegments[at])
  );
};
