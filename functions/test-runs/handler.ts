/** Stops test runs: of all functions the one that may delete what a run wrote. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { stopOperations } from '../api/operations/stop-test-run.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/tools.ts';
import { deciderOf, loggerOf } from '../wiring.ts';

const tools = toolsOf({ decider: deciderOf('test-runs'), inspect: inspectNode, logger: loggerOf('test-runs') });

export const handler = httpFunction(tools, stopOperations(tools));
