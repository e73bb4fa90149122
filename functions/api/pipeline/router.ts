/** The router, made from the table: each route of a function to its operation, anything else to 404 or 405. */
import router from '@middy/http-router';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { Route } from '../../../lib/api/route.ts';
import { type OperationId, routes } from '../../../lib/api/routes.ts';
import { runIdPattern } from '../../../lib/engine/ids.ts';
import { traceFacts } from '../../../lib/engine/trace.ts';
import { type AnyAnswer, type AnyOperation, type AnyOperations, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { answerRoute } from './answer-route.ts';
import { isPreflight, preflight } from './cors.ts';
import { type HttpAnswer, type HttpCall, type RoutedAnswer, callOf } from './http-call.ts';
import { respond } from './respond.ts';
import { traceIn } from './tracing.ts';

export type Answering = (event: APIGatewayProxyEvent, context: Context) => Promise<HttpAnswer>;

export const routed = (tools: Tools, operations: AnyOperations): Answering => {
  const answered = routes.flatMap((route: Route & { operationId: OperationId }) => {
    const operation = operations[route.operationId];
    return operation === undefined
      ? []
      : [{ method: route.method, path: route.path, handler: handlerOf(tools, route, operation) }];
  });
  const handler = router<APIGatewayProxyEvent, RoutedAnswer>({
    routes: answered,
    notFoundResponse: () => undefined,
  });
  return async (event, context) => {
    const { stream, ...answer } = (await handler(event, context)) ?? notRouted(tools, event);
    return stream === undefined ? answer : { ...answer, body: stream };
  };
};

const handlerOf =
  (tools: Tools, route: Route, operation: AnyOperation) =>
  async (event: APIGatewayProxyEvent): Promise<RoutedAnswer> => {
    const trace = traceIn(event);
    const call = callOf(event);
    const answer = await answerRoute(tools, route, operation, call, trace);
    const response = respond(answer, trace.correlationId);
    tools.logger.info('answered', {
      ...traceFacts(trace),
      ...runFact(answer, call),
      operation: route.operationId,
      status: response.statusCode,
    });
    return response;
  };

/** The run that the request is about, where it is about one. */
const runFact = ({ audit }: AnyAnswer, { params }: HttpCall): { readonly runId?: string } => {
  const runId = audit?.facts?.['runId'] ?? params['runId'];
  return typeof runId === 'string' && runIdPattern.test(runId) ? { runId } : {};
};

const notRouted = (tools: Tools, event: APIGatewayProxyEvent): RoutedAnswer => {
  const allowed = routes.filter(({ path }) => matches(path, event.path)).map(({ method }) => method);
  if (allowed.length > 0 && isPreflight(tools, event)) return preflight(allowed);
  const refusal =
    allowed.length === 0 ? refuse('not_found') : { ...refuse('method_not_allowed'), headers: { allow: allowed.join(', ') } };
  return respond(refusal, traceIn(event).correlationId);
};

/** A parameter is one step of the path; a slash at the end changes nothing. */
const matches = (template: string, path: string): boolean => {
  const wanted = template.split('/');
  const given = path.replace(/\/$/, '').split('/');
  return wanted.length === given.length && wanted.every((step, at) => step.startsWith('{') || step === given[at]);
};
