/** Serves every HTTP route that no other function serves. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { externalDeciderOf } from '../external-wiring.ts';
import { loggerOf } from '../wiring.ts';
import { jobFunctions } from './wiring.ts';
import { servedByApi } from './operations/all.ts';
import { findingsOfDefinition } from './operations/workflows.ts';
import { httpFunction } from './pipeline/http-function.ts';
import { toolsOf } from './operation.ts';

const tools = {
  ...toolsOf({
    decider: externalDeciderOf('api'),
    inspect: inspectNode,
    logger: loggerOf('api'),
    findingsOfDefinition: findingsOfDefinition(inspectNode),
  }),
  jobCalls: jobFunctions(),
};

export const handler = httpFunction(tools, servedByApi);
