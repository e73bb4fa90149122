/**
 * Publishes a message of the Workflow DevKit to the code of a run. The message goes to the queue only. It may carry what its run is
 * created from, because a start sends both at once: the run is created first, and the message then carries its name alone.
 */
import { defined } from '../../../base/defined.ts';
import { parseQueueName } from '../../../engine/bundle/message.ts';
import { type DeploymentId, type Scope, firstAttempt, runId, runIdPattern } from '../../../engine/ids.ts';
import { type JsonObject, isJsonObject } from '../../../engine/json.ts';
import { type DevKitHead, creationOf } from '../../../engine/log/head.ts';
import type { DurationMs } from '../../../engine/time.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import type { Deps } from '../../deps.ts';
import { createRunOfMessage } from './create-run-of-message.ts';
import { newMessageId } from './jobs.ts';
import { sendHealthCheck } from './send-health-check.ts';
import { offloadMessage, sendMessage } from './queued-message.ts';
import { refuseUploads } from './uploads.ts';
import type { World } from './world.ts';
import { type WorldResult, answer, invalid, noRun, refused } from './world-error.ts';

export interface PublishRequest {
  readonly scope: Scope;
  readonly queueName: string;
  readonly message: JsonObject;
  readonly deploymentId?: DeploymentId;
  readonly idempotencyKey?: string;
  readonly delay?: DurationMs;
}

export interface Published {
  readonly messageId: string;
}

/** @param head of the message's run, which may be new; undefined: it does not exist */
export async function publishDevKitMessage(
  world: World,
  request: PublishRequest,
  head: DevKitHead | undefined,
): Promise<WorldResult<Published>> {
  const { deps } = world;
  const { scope, queueName, message, deploymentId } = request;
  if (parseQueueName(queueName) === undefined) return invalid('/queueName', `${queueName} is not the name of a queue`);
  if (message['__healthCheck'] === true) return publishHealthCheck(deps, request);
  const runName = runIdIn(message);
  if (runName === undefined) return invalid('/message', 'the message contains no run id');
  const { runInput, ...rest } = message;
  const wrong = refuseUploads(rest, '/message');
  if (wrong !== undefined) return wrong;
  if (head !== undefined) return send(deps, head, request, rest);
  const run = { ...scope, runId: runId(runName) };
  if (!isJsonObject(runInput)) return noRun;
  const created = await createRunOfMessage(world, run, runInput, deploymentId);
  if (created.kind === 'refused') return created;
  const written = await deps.log.head(run);
  return written?.kind === 'devkit' ? send(deps, written, request, rest) : noRun;
}

/** The run of a message. The DevKit's messages use two names for its field. */
export const runIdIn = ({ runId: flowRunId, workflowRunId }: JsonObject): string | undefined => {
  const candidate = flowRunId ?? workflowRunId;
  return typeof candidate === 'string' && runIdPattern.test(candidate) ? candidate : undefined;
};

async function send(deps: Deps, head: DevKitHead, request: PublishRequest, message: JsonObject): Promise<WorldResult<Published>> {
  const { queueName, deploymentId = head.deploymentId, idempotencyKey, delay } = request;
  const messageId = newMessageId(deps);
  const { stepId } = message;
  const job: DevKitJob = defined({
    kind: 'devkit',
    run: head.address,
    creation: creationOf(head),
    deploymentId,
    queueName,
    lane: typeof stepId === 'string' ? stepId : undefined,
    messageId,
    deduplication: idempotencyKey ?? messageId,
    attempt: firstAttempt,
    message: await offloadMessage(deps, head, message),
    trace: head.trace,
  });
  await sendMessage(deps, job, delay);
  return answer({ messageId });
}

async function publishHealthCheck(deps: Deps, { scope, queueName, message, deploymentId }: PublishRequest) {
  if (deploymentId === undefined) return refused('deployment_not_found', 'a health check names the deployment that it checks');
  return answer({ messageId: await sendHealthCheck(deps, { scope, queueName, message, deploymentId }) });
}
