/** The routes for the programs of deployments, as entries of the table of routes. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as world from './schemas/world.ts';

/** A message is kept in the log of its run, or beside it in the bucket; a queue carries only its name. */
const messageLimitBytes = 262_144;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

export const worldRoutes = [
  {
    method: 'POST',
    path: '/v1/queue/publish',
    operationId: 'publishMessage',
    summary: 'Sends a run of a deployment a message',
    servedBy: 'api',
    scope: 'world:proxy',
    body: { schema: world.publishBody, limitBytes: messageLimitBytes },
    idempotencyKey: 'none',
    action: 'world.queue.publish',
    responses: { 200: ok('It is in the log of its run, and on its way', world.publishedMessageResponse) },
    errors: ['not_found', 'run_terminal', 'idempotency_conflict', 'takes_no_messages', 'deployment_mismatch', 'unknown_queue'],
  },
  {
    method: 'GET',
    path: '/v1/world/deployment-id',
    operationId: 'getWorldDeploymentId',
    summary: 'The id of the active deployment',
    servedBy: 'api',
    scope: 'world:proxy',
    idempotencyKey: 'none',
    responses: { 200: ok('The active deployment', world.worldDeploymentResponse) },
    errors: ['no_active_deployment'],
  },
] as const satisfies readonly Route[];
