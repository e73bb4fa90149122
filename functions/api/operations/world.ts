/** The routes that the Workflow DevKit's World uses from deployed programs. */
import { bodyHash } from '../../../lib/api/idempotency.ts';
import { defined } from '../../../lib/base/defined.ts';
import { type RunId, runId, runIdPattern } from '../../../lib/engine/ids.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { activeDeployment } from '../../../lib/service/deployments/get-deployments.ts';
import { publishMessage } from '../../../lib/service/kinds/bundle/publish-message.ts';
import { type OperationTable, refuse } from '../operation.ts';
import { refuseNoApp } from './refuse-no-app.ts';

/** Queue names listed in an error message. A manifest can have thousands; a few show a typing error. */
const maxQueuesListed = 20;

export const worldOperations: OperationTable<'publishMessage' | 'getWorldDeploymentId'> = {
  async publishMessage({ decider }, { scope, body: { queueName, message, opts = {} } }) {
    const id = runOf(message);
    const audit = { resource: `queue/${queueName}`, facts: id === undefined ? {} : { runId: id } };
    if (id === undefined) return { ...refuse('not_found', { message: 'The message contains no run id.' }), audit };
    const { idempotencyKey: key, delaySeconds, deploymentId } = opts;
    const result = await publishMessage(
      decider,
      defined({
        run: { ...scope, runId: id },
        queueName,
        message,
        deploymentId,
        delay: delaySeconds === undefined ? undefined : seconds(delaySeconds),
        idempotency: key === undefined ? undefined : { key, bodyHash: bodyHash({ queueName, message, ...opts }) },
      }),
    );
    if (result.kind === 'unknown_queue') {
      const { queues } = result;
      const rest = queues.length > maxQueuesListed ? ` and ${queues.length - maxQueuesListed} more` : '';
      const message = `the deployment has the queues ${queues.slice(0, maxQueuesListed).join(', ')}${rest}`;
      return { ...refuse(result.kind, { errors: [{ pointer: '/queueName', code: 'unknown_queue', message }] }), audit };
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

/** The run of a message. DevKit's messages use two names for its field. */
const runOf = ({ runId: messageRunId, workflowRunId }: JsonObject): RunId | undefined => {
  const candidate = messageRunId ?? workflowRunId;
  return typeof candidate === 'string' && runIdPattern.test(candidate) ? runId(candidate) : undefined;
};
