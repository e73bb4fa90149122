/** Serves the World of the Workflow DevKit: the log, the hooks, the streams and the queue of DevKit runs. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { RateLimiter } from '../../lib/service/access/rate-limiter.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { toolsOf } from '../api/operation.ts';
import { servedByWorld } from '../api/operations/world.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { deciderOf, loggerOf } from '../wiring.ts';

const decider = { ...deciderOf('world'), foldCache: new FoldCache() };
const tools = {
  ...toolsOf({ decider, inspect: inspectNode, logger: loggerOf('world') }),
  rates: new RateLimiter(decider.deps, 'world'),
};

export const handler = httpFunction(tools, servedByWorld);
