/** Sends a health check of the Workflow DevKit to the code of a deployment. It belongs to no run, and its answer is in a stream. */
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

/** @returns the id of the message */
export async function sendHealthCheck(
  deps: Pick<Deps, 'clock' | 'ids' | 'jobs'>,
  { scope, deploymentId, queueName, message }: HealthCheck,
): Promise<string> {
  const messageId = newMessageId(deps);
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
