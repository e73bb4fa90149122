/** The router, made from the table: each route of a function to its operation, anything else to 404 or 405. */
import router from '@middy/http-router';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { Route } from '../../../lib/api/route.ts';
import { type OperationId, routes } from '../../../lib/api/routes.ts';
import { type AnyOperation, type AnyOperations, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { answerRoute } from './answer-route.ts';
import { correlationIdOf } from './correlation-id.ts';
import { type HttpAnswer, callOf } from './http-call.ts';
import { respond } from './respond.ts';

export type Answering = (event: APIGatewayProxyEvent, context: Context) => Promise<HttpAnswer>;

export const routed = (tools: Tools, operations: AnyOperations): Answering => {
  const answered = routes.flatMap((route: Route & { operationId: OperationId }) => {
    const operation = operations[route.operationId];
    return operation === undefined
      ? []
      : [{ method: route.method, path: route.path, handler: handlerOf(tools, route, operation) }];
  });
  const handler = router<APIGatewayProxyEvent, HttpAnswer>({
    routes: answered,
    notFoundResponse: () => undefined,
  });
  return async (event, context) => (await handler(event, context)) ?? notRouted(event);
};

const handlerOf =
  (tools: Tools, route: Route, operation: AnyOperation): Answering =>
  async (event) => {
    const correlationId = correlationIdOf(event);
    const answer = await answerRoute(tools, route, operation, callOf(event), correlationId);
    const response = respond(answer, correlationId);
    tools.logger.info('answered', { correlationId, operation: route.operationId, status: response.statusCode });
    return response;
  };

const notRouted = (event: APIGatewayProxyEvent): HttpAnswer => {
  const allowed = routes.filter(({ path }) => matches(path, event.path)).map(({ method }) => method);
  const refusal =
    allowed.length === 0 ? refuse('not_found') : { ...refuse('method_not_allowed'), headers: { allow: allowed.join(', ') } };
  return respond(refusal, correlationIdOf(event));
};

/** A parameter is one step of the path; a slash at the end changes nothing. */
const matches = (template: string, path: string): boolean => {
  const wanted = template.split('/');
  const given = path.replace(/\/$/, '').split('/');
  return wanted.length === given.length && wanted.every((step, at) => step.startsWith('{') || step === given[at]);
};
