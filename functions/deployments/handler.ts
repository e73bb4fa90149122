/** Serves the deployment routes. A separate function, because it alone signs uploads and unpacks archives. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { servedByDeployments } from '../api/operations/deployments.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/operation.ts';
import { loggerOf, resolverOf } from '../wiring.ts';

const tools = toolsOf({ decider: resolverOf(), inspect: inspectNode, logger: loggerOf('deployments') });

export const handler = httpFunction(tools, servedByDeployments);
