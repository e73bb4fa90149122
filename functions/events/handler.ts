/** Answers what happened to a run. A function of its own, because the gateway streams its answers. */
import { executionModeStreamifyResponse } from '@middy/core/executionModeStreamifyResponse';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { eventOperations } from '../api/operations/events.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/tools.ts';
import { deciderOf, loggerOf } from '../wiring.ts';

const tools = toolsOf({ decider: deciderOf('events'), inspect: inspectNode, logger: loggerOf('events') });

export const handler = httpFunction(tools, eventOperations(tools), { executionMode: executionModeStreamifyResponse });
