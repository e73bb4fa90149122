/**
 * Answers the routes about what workflows use and who may use it: lenses, queries, schedules, keys and the audit trail; describes
 * the API. No start of a run waits for it.
 */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { libraryOperations } from '../api/operations/library.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/tools.ts';
import { deciderOf, loggerOf } from '../wiring.ts';

const tools = toolsOf({ decider: deciderOf('library'), inspect: inspectNode, logger: loggerOf('library') });

export const handler = httpFunction(tools, libraryOperations(tools));
