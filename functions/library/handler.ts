/** Serves the routes for lenses, queries, schedules, keys, the audit trail and the OpenAPI document. Starting a run never depends on it. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { servedByLibrary } from '../api/operations/library.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/operation.ts';
import { loggerOf, resolverOf } from '../wiring.ts';

const tools = toolsOf({ decider: resolverOf(), inspect: inspectNode, logger: loggerOf('library') });

export const handler = httpFunction(tools, servedByLibrary);
