/** Takes webhooks. A function of its own: it alone answers to nobody's key, and sees no keys. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { webhookOperations } from '../api/operations/webhooks.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/tools.ts';
import { deciderOf, loggerOf } from '../wiring.ts';
import { createProvidersReader, webhookSecretsOf } from './wiring.ts';

const decider = deciderOf('webhooks');
const tools = {
  ...toolsOf({ decider, inspect: inspectNode, logger: loggerOf('webhooks') }),
  providers: createProvidersReader(),
  secrets: webhookSecretsOf(decider.deps.clock),
};

export const handler = httpFunction(tools, webhookOperations(tools));
