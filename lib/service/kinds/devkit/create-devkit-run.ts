/** Prepares the first commit of a run of the Workflow DevKit: the event of its start, and where the platform starts it, its first message. */
import { decideCreation } from '../../../engine/devkit/decide.ts';
import { openDecision } from '../../../engine/decision.ts';
import { emptyState } from '../../../engine/log/fold.ts';
import type { NotPrepared, PrepareTerms, PreparedRun, ResolvedDevKit } from '../../new-run.ts';
import type { Decider } from '../../decider.ts';
import { pinDeployment } from '../deployed-run.ts';
import { flowJob } from './jobs.ts';

export async function createDevKitRun(
  decider: Decider,
  resolved: ResolvedDevKit,
  terms: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  const { deps } = decider;
  const { address, now, deadline } = terms;
  const { deploymentId, workflowName, request, sendsFirst, system = {} } = resolved;
  const app = await deps.registeredApps.app(address, deploymentId);
  const refused = app === undefined ? await pinDeployment(decider, resolved, terms) : undefined;
  if (refused !== undefined) return refused;
  const draft = openDecision(emptyState(), { now, ...deadline });
  decideCreation(draft, { ...request, data: { ...request.data, ...system } });
  return {
    created: { kind: 'devkit', workflow: { name: workflowName }, deploymentId },
    events: draft.events,
    ...(sendsFirst === true ? { firstJobs: (creation) => flowJob(deps, creation, 'start') } : {}),
  };
}
