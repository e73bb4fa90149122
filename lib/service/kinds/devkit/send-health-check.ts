/** Sends a health check of the Workflow DevKit to the code of a deployment. It belongs to no run, and its answer is in a stream. */
import { laneOf } from '../../../engine/bundle/message.ts';
import { type DeploymentId, type Scope, firstAttempt } from '../../../engine/ids.ts';
import { type JsonObject, inline } from '../../../engine/json.ts';
import type { Deps } from '../../deps.ts';
import { newMessageId } from './jobs.ts';

interface HealthCheck {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  readonly queueName: string;
  readonly message: JsonObject;
}

type Needs = Pick<Deps, 'clock' | 'deployments' | 'ids' | 'jobs'>;

/** @returns the id of the message */
export async function sendHealthCheck(deps: Needs, check: HealthCheck): Promise<string> {
  const { scope, deploymentId, message } = check;
  const messageId = newMessageId(deps);
  const queueName = await executedQueue(deps, check);
  await deps.jobs.send([
    {
      kind: 'devkit',
      run: { ...scope, runId: deps.ids.runId(deps.clock.now()) },
      deploymentId,
      queueName,
      messageId,
      deduplication: messageId,
      attempt: firstAttempt,
      message: inline(message),
    },
  ]);
  return messageId;
}

/**
 * The SDK's web pages check the endpoints of workflows and of steps at each version. The code of version 5 executes steps in that of
 * workflows, so that one answers for both.
 */
async function executedQueue({ deployments }: Needs, { scope, deploymentId, queueName }: HealthCheck): Promise<string> {
  if (laneOf(queueName) !== 'step') return queueName;
  const deployment = await deployments.deployment(scope, deploymentId);
  return deployment?.manifest.devkit?.format === 'module' ? queueName.replace('wkf_step_', 'wkf_workflow_') : queueName;
}
