/** The routes that the Workflow DevKit's World uses, as entries of the route table. */
import { ok, type Route } from './route.ts';
import { appQuery } from './schemas/parts.ts';
import * as world from './schemas/world.ts';

/** A message is stored in the log of its run, or offloaded to the bucket. The queue contains only its name. */
export const messageLimitBytes = 262_144;

export const worldRoutes = [
  {
    method: 'POST',
    path: '/v1/queue/publish',
    operationId: 'publishMessage',
    summary: 'Sends a message to a bundle run',
    servedBy: 'api',
    scope: 'world:proxy',
    body: { schema: world.publishBody, limitBytes: messageLimitBytes },
    idempotencyKey: 'none',
    action: 'world.queue.publish',
    responses: { 200: ok('The message is in the log of its run and will be delivered', world.publishedMessageResponse) },
    errors: ['not_found', 'run_terminal', 'idempotency_conflict', 'takes_no_messages', 'deployment_mismatch', 'unknown_queue'],
  },
  {
    method: 'GET',
    path: '/v1/world/deployment-id',
    operationId: 'getWorldDeploymentId',
    summary: 'Returns the id of the active deployment of an app',
    servedBy: 'api',
    scope: 'world:proxy',
    query: appQuery,
    idempotencyKey: 'none',
    responses: { 200: ok('The active deployment', world.worldDeploymentResponse) },
    errors: ['no_active_deployment', 'app_required'],
  },
] as const satisfies readonly Route[];
