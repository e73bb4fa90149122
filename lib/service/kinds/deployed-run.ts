/** What code runs and bundle runs share: each is pinned to a deployment. */
import type { BundleHead, CodeHead } from '../../engine/log/head.ts';
import { rerunSystemValues } from '../../engine/log/lineage.ts';
import type { Deployment } from '../../ports/deployments.ts';
import { findReadyDeployment } from '../deployments/find-ready-deployment.ts';
import type { NotPrepared, PrepareTerms, ResolvedCode } from '../new-run.ts';
import type { Decider } from '../decider.ts';
import { readRunInput } from '../run-log/read-run-input.ts';
import type { RerunRefusal, RerunRequest } from '../runs/rerun-run.ts';

/**
 * Pins the deployment of a new run, so that it is not removed while the run is open.
 * @returns the deployment, or why the run cannot be created
 */
export async function pinDeployment(
  { deps: { deployments }, known }: Decider,
  { deploymentId }: Pick<ResolvedCode, 'deploymentId'>,
  { address, now, expiresAt }: PrepareTerms,
): Promise<Deployment | NotPrepared> {
  // Pins first, then reads the deployment again. A removal marks first, then reads the pins. So one of them sees the other.
  await deployments.pin(address, deploymentId, address.runId, { since: now, expiresAt });
  const deployment = await deployments.deployment(address, deploymentId);
  if (deployment !== undefined && deployment.removingSince === undefined) return deployment;
  known?.forget(address, deploymentId);
  await deployments.unpin(address, deploymentId, address.runId);
  return { kind: 'deployment_not_found', deploymentId };
}

/** Finds what a rerun from the beginning starts: the workflow of the run, on the same or another deployment. */
export async function resolveDeployedRerun(
  decider: Decider,
  head: BundleHead | CodeHead,
  { sourceRun, input, version, deploymentId, from, results }: RerunRequest,
): Promise<ResolvedCode | RerunRefusal> {
  if (version !== undefined) return { kind: 'not_applicable', field: 'version' };
  if (from !== undefined) return { kind: 'not_applicable', field: 'fromNode' };
  if (results !== undefined) return { kind: 'not_applicable', field: 'results' };
  const id = deploymentId ?? head.deploymentId;
  const ready = await findReadyDeployment(decider, sourceRun, id, head.workflow.name);
  if (ready.kind !== 'ready') return ready;
  return {
    kind: 'found',
    ...ready.serves,
    deploymentId: id,
    input: input === undefined ? await readRunInput(decider.deps, head) : input,
    system: rerunSystemValues(sourceRun.runId),
  };
}
