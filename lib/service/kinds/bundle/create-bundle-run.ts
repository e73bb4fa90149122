/** Prepares the first commit of a bundle run: pins its deployment and decides its first message. */
import { decideBundleStart } from '../../../engine/bundle/decide.ts';
import { workflowQueue } from '../../../engine/bundle/message.ts';
import type { NotPrepared, PrepareTerms, PreparedRun, ResolvedCode } from '../../new-run.ts';
import type { Decider } from '../../decider.ts';
import { offloadInput } from '../../run-log/payloads.ts';
import { pinDeployment } from '../deployed-run.ts';
import { newMessage } from './decide-bundle-run.ts';

export async function createBundleRun(
  decider: Decider,
  resolved: ResolvedCode,
  terms: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  const { deps } = decider;
  const { deploymentId, workflowName, input, system = {} } = resolved;
  const { address, now, deadline, expiresAt, startsAt, runsOneInline } = terms;
  const pinned = await pinDeployment(decider, resolved, terms);
  if ('kind' in pinned) return pinned;
  const payload = await offloadInput(deps, { address, expiresAt, kind: 'bundle' }, input);
  const body = { runId: address.runId, input };
  // The message id follows from the run id, so that every repeated request writes the same commit.
  const first = newMessage(deps, 'workflow', { queueName: workflowQueue(workflowName), body }, address.runId);
  const tools = { now, ...deadline, random: () => deps.ids.random() };
  return {
    created: { kind: 'bundle', workflow: { name: workflowName }, deploymentId },
    events: decideBundleStart(payload, system, first, tools, startsAt, runsOneInline ? 'inline' : 'queue'),
  };
}
