/** Serves the routes for lenses, queries, schedules, keys, sessions, the audit trail and the OpenAPI document. Starting a run never depends on it. */
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { servedByLibrary } from '../api/operations/library.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/operation.ts';
import { loggerOf, resolverOf } from '../wiring.ts';
import { embedPage, isEmbedPage } from './embed-page.ts';
import { signInOf, thisInstallation } from './wiring.ts';

const decider = resolverOf();
const tools = {
  ...toolsOf({ decider, inspect: inspectNode, logger: loggerOf('library') }),
  signIn: signInOf(decider.deps.clock),
  installation: thisInstallation(),
};

const serveRoutes = httpFunction(tools, servedByLibrary);
const servePage = embedPage(tools);

export const handler = async (event: APIGatewayProxyEvent, context: Context) =>
  isEmbedPage(event) ? servePage(event) : serveRoutes(event, context);
