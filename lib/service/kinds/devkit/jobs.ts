/** Builds messages of the Workflow DevKit. */
import { defined } from '../../../base/defined.ts';
import { workflowQueue } from '../../../engine/bundle/message.ts';
import { firstAttempt } from '../../../engine/ids.ts';
import { inline } from '../../../engine/json.ts';
import { type DevKitCreation, type DevKitHead, type RunCreation, creationOf } from '../../../engine/log/head.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import type { Deps } from '../../deps.ts';

/** A new id of a message. */
export const newMessageId = ({ ids, clock }: Pick<Deps, 'ids' | 'clock'>): string =>
  `msg_${ids.runId(clock.now()).slice('wrun_'.length)}`;

/**
 * The message that makes the code of a run read its log again. It names the run and nothing else.
 * @param reason a repeated message with the same reason is dropped by the queue
 */
export const flowJob = (deps: Pick<Deps, 'ids' | 'clock'>, creation: RunCreation, reason: string): readonly DevKitJob[] =>
  creation.kind === 'devkit' ? [flowJobOf(deps, creation, reason)] : [];

export const flowJobOf = (
  deps: Pick<Deps, 'ids' | 'clock'>,
  creation: DevKitCreation | DevKitHead,
  reason: string,
): DevKitJob => {
  const { address, deploymentId, workflow, queueNamespace, trace } = creation;
  return defined({
    kind: 'devkit',
    run: address,
    creation: 'projection' in creation ? creationOf(creation) : creation,
    deploymentId,
    queueName: workflowQueue(workflow.name, queueNamespace),
    messageId: newMessageId(deps),
    deduplication: `.${reason}`,
    attempt: firstAttempt,
    message: inline({ runId: address.runId }),
    trace,
  });
};
