/** What every HTTP function is: the router inside, and around it what every answer has. */
import middy, { type PluginExecutionMode } from '@middy/core';
import headerNormalizer from '@middy/http-header-normalizer';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { Route } from '../../../lib/api/route.ts';
import { type Operations, asAnyOperations } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { cors } from './cors.ts';
import { errorEnvelope } from './error-envelope.ts';
import type { HttpResponse } from './http-call.ts';
import { createRouter } from './router.ts';
import { securityHeaders } from './security-headers.ts';
import { tracing } from './tracing.ts';

/** Long enough before the function's own end for the answer still to be sent. */
const timeoutEarlyInMillis = 500;

export const httpFunction = <ServedBy extends Route['servedBy']>(
  tools: Tools,
  operations: Operations<ServedBy>,
  options: { executionMode?: PluginExecutionMode } = {},
) =>
  middy<APIGatewayProxyEvent, HttpResponse>({ timeoutEarlyInMillis, ...options })
    .use(headerNormalizer())
    .use(tracing())
    .use(securityHeaders())
    .use(cors(tools.decider.deps.settings))
    // The last used is the first to see an error: it makes the answer that the others then complete.
    .use(errorEnvelope(tools.logger))
    .handler(createRouter(tools, asAnyOperations(operations)));
