/** Stops test runs and deletes their data. A separate function, because only it and the sweep may delete run records. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { servedByTestRuns } from '../api/operations/test-runs.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { toolsOf } from '../api/operation.ts';
import { deciderOf, loggerOf } from '../wiring.ts';

const tools = toolsOf({ decider: deciderOf('test-runs'), inspect: inspectNode, logger: loggerOf('test-runs') });

export const handler = httpFunction(tools, servedByTestRuns);
