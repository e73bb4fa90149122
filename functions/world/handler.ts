/**
 * Serves the World of the Workflow DevKit: the log, the hooks, the streams and the queue of DevKit runs. For the function that executes
 * code, it also starts the code runs that code calls, and commits their ends to their callers.
 */
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { RateLimiter } from '../../lib/service/access/rate-limiter.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { toolsOf } from '../api/operation.ts';
import { servedByWorld } from '../api/operations/world.ts';
import { httpFunction } from '../api/pipeline/http-function.ts';
import { makeUploads } from '../uploads-wiring.ts';
import { deciderOf, depsOf, loggerOf } from '../wiring.ts';
import { appAddressRule } from './app-address-wiring.ts';
import { isChildCall, parseChildCall } from '../../lib/codec/job-calls.ts';
import { reconcileForCode } from '../../lib/service/execution/reconcile-for-code.ts';
import { handleWorldCall, isWorldCall } from './handle-call.ts';
import { runKeysOf } from './run-keys-wiring.ts';

const decider = deciderOf('world', depsOf({ makeUploads }));
const world = {
  ...decider,
  foldCache: new FoldCache(),
  runKeys: runKeysOf(decider.deps.clock),
  refuseAppAddress: appAddressRule(),
};
const tools = {
  ...toolsOf({ decider: world, inspect: inspectNode, logger: loggerOf('world') }),
  rates: new RateLimiter(decider.deps, 'world'),
};

const serveHttp = httpFunction(tools, servedByWorld);

export const handler = async (event: APIGatewayProxyEvent, context: Context) =>
  isWorldCall(event)
    ? handleWorldCall(tools, event)
    : isChildCall(event)
      ? reconcileForCode(world, parseChildCall(event))
      : serveHttp(event, context);
