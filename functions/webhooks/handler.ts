/** Receives webhooks. A separate function, because its requests have no API key and it may read no keys. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { servedByWebhooks } from '../api/operations/webhooks.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/operation.ts';
import { deciderOf, loggerOf } from '../wiring.ts';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { appWebhooks, isAppWebhook } from './app-webhooks.ts';
import { codeFunction, createProvidersReader, webhookSecretsOf } from './wiring.ts';

const decider = deciderOf('webhooks');
const tools = {
  ...toolsOf({ decider, inspect: inspectNode, logger: loggerOf('webhooks') }),
  providers: createProvidersReader(),
  secrets: webhookSecretsOf(decider.deps.clock),
};

const serveProviders = httpFunction(tools, servedByWebhooks);
const serveApps = appWebhooks({ ...tools, webhookCalls: codeFunction() });

export const handler = async (event: APIGatewayProxyEvent, context: Context) =>
  isAppWebhook(event) ? serveApps(event, context) : serveProviders(event, context);
