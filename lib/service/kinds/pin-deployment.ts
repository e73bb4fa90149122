/** Pins the deployment of a new run, so that it is not removed while the run is open. */
import type { NotPrepared, PrepareTerms, ResolvedCode } from '../new-run.ts';
import type { Decider } from '../run-kind.ts';

/** @returns why the run cannot be created; undefined if the deployment is pinned */
export async function pinDeployment(
  { deps: { deployments } }: Decider,
  { deploymentId }: ResolvedCode,
  { address, now, expiresAt }: PrepareTerms,
): Promise<NotPrepared | undefined> {
  // Pins first, then reads the deployment again. A removal marks first, then reads the pins. So one of them sees the other.
  await deployments.pin(address, deploymentId, address.runId, { since: now, expiresAt });
  const deployment = await deployments.deployment(address, deploymentId);
  if (deployment !== undefined && deployment.removingSince === undefined) return undefined;
  await deployments.unpin(address, deploymentId, address.runId);
  return { kind: 'deployment_not_found', deploymentId };
}
