/** Serves the events of a run. A separate function, because the gateway streams its responses. */
import { executionModeStreamifyResponse } from '@middy/core/executionModeStreamifyResponse';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { servedByEvents } from '../api/operations/events.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/operation.ts';
import { externalDeciderOf } from '../external-wiring.ts';
import { loggerOf } from '../wiring.ts';

const tools = toolsOf({ decider: externalDeciderOf('events'), inspect: inspectNode, logger: loggerOf('events') });

export const handler = httpFunction(tools, servedByEvents, { executionMode: executionModeStreamifyResponse });
