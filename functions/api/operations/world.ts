/** The routes that the World of the Workflow DevKit uses. */
import { bodyHash } from '../../../lib/api/idempotency.ts';
import { messageLimitBytes, worldRoutes } from '../../../lib/api/world-routes.ts';
import { defined } from '../../../lib/base/defined.ts';
import { runId } from '../../../lib/engine/ids.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { activeDeployment } from '../../../lib/service/deployments/get-deployments.ts';
import { publishMessage } from '../../../lib/service/kinds/bundle/publish-message.ts';
import { publishDevKitMessage, runIdIn } from '../../../lib/service/kinds/devkit/publish-devkit-message.ts';
import { type Operations, type Served, refuse } from '../operation.ts';
import { refuseNoApp } from './refuse-no-app.ts';
import { type WorldTools, worldCalls } from './world-calls.ts';
import { worldResponse } from './world-refusal.ts';

/** Queue names listed in an error message. A manifest can have thousands; a few show a typing error. */
const maxQueuesListed = 20;

const worldOperations: Operations<'world', WorldTools> = {
  ...worldCalls,

  async publishMessage({ decider: world }, { scope, body: { queueName, message, opts = {} } }) {
    const named = runIdIn(message);
    const isHealthCheck = message['__healthCheck'] === true;
    const audit = { resource: `queue/${queueName}`, facts: named === undefined ? {} : { runId: named } };
    if (named === undefined && !isHealthCheck)
      return { ...refuse('not_found', { message: 'The message contains no run id.' }), audit };
    const head = named === undefined ? undefined : await world.deps.log.head({ ...scope, runId: runId(named) });
    const { idempotencyKey: key, delaySeconds, deploymentId } = opts;
    const delay = delaySeconds === undefined ? undefined : seconds(delaySeconds);
    if (head === undefined ? isHealthCheck || 'runInput' in message : head.kind === 'devkit') {
      const request = defined({ scope, queueName, message, deploymentId, idempotencyKey: key, delay });
      const published = await publishDevKitMessage(world, request, head?.kind === 'devkit' ? head : undefined);
      return { ...worldResponse(published), audit };
    }
    if (named === undefined) return { ...refuse('not_found'), audit };
    if (Buffer.byteLength(JSON.stringify(message)) > messageLimitBytes) return { ...refuse('payload_too_large'), audit };
    const result = await publishMessage(
      world,
      defined({
        run: { ...scope, runId: runId(named) },
        queueName,
        message,
        deploymentId,
        delay,
        idempotency: key === undefined ? undefined : { key, bodyHash: bodyHash({ queueName, message, ...opts }) },
      }),
    );
    if (result.kind === 'unknown_queue') {
      const { queues } = result;
      const rest = queues.length > maxQueuesListed ? ` and ${queues.length - maxQueuesListed} more` : '';
      const text = `the deployment has the queues ${queues.slice(0, maxQueuesListed).join(', ')}${rest}`;
      return { ...refuse(result.kind, { errors: [{ pointer: '/queueName', code: 'unknown_queue', message: text }] }), audit };
    }
    if (result.kind !== 'published') return { ...refuse(result.kind), audit };
    const { messageId, isReplay } = result;
    const facts = { ...audit.facts, deduped: isReplay, messageId };
    return {
      status: 200,
      body: { messageId },
      audit: { ...audit, facts: key === undefined ? facts : { ...facts, idempotencyKeyHash: bodyHash(key) } },
    };
  },

  async getWorldDeploymentId({ decider: { deps } }, { scope, query: { app } }) {
    const active = await activeDeployment(deps, scope, app);
    return active.kind === 'active' ? { status: 200, body: { deploymentId: active.deploymentId } } : refuseNoApp(active);
  },
};

export const servedByWorld: Served<'world', WorldTools> = { routes: worldRoutes, operations: worldOperations };
