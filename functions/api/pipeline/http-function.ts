/** What every HTTP function is: the router inside, and around it what every answer has. */
import middy, { type PluginExecutionMode } from '@middy/core';
import headerNormalizer from '@middy/http-header-normalizer';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { Route } from '../../../lib/api/route.ts';
import { type Operations, anyOf } from '../operation.ts';
import type { Tools } from '../tools.ts';
import { cors } from './cors.ts';
import { errorEnvelope } from './error-envelope.ts';
import type { HttpAnswer } from './http-call.ts';
import { routed } from './router.ts';
import { securityHeaders } from './security-headers.ts';
import { tracing } from './tracing.ts';

/** Long enough before the function's own end for the answer still to be sent. */
const timeoutEarlyInMillis = 500;

export const httpFunction = <Served extends Route['servedBy']>(
  tools: Tools,
  operations: Operations<Served>,
  options: { executionMode?: PluginExecutionMode } = {},
) =>
  middy<APIGatewayProxyEvent, HttpAnswer>({ timeoutEarlyInMillis, ...options })
    .use(headerNormalizer())
    .use(tracing())
    .use(securityHeaders())
    .use(cors(tools.decider.deps.settings))
    // The last used is the first to see an error: it makes the answer that the others then complete.
    .use(errorEnvelope(tools.logger))
    .handler(routed(tools, anyOf(operations)));
