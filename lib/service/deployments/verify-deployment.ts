/** Verifies an uploaded deployment without activating it. Runs can then be started on it by its id, to try it out. */
import type { DeploymentId, Scope } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';
import { type ArtifactRefusal, verifyArtifact } from './verify-artifact.ts';

export type VerifyDeploymentResult =
  | { readonly kind: 'verified'; readonly verifiedAt: Instant }
  | { readonly kind: 'not_found' }
  | ArtifactRefusal;

export async function verifyDeployment(
  deps: Pick<Deps, 'deployments' | 'artifacts' | 'notices' | 'clock'>,
  scope: Scope,
  deploymentId: DeploymentId,
): Promise<VerifyDeploymentResult> {
  const deployment = await deps.deployments.deployment(scope, deploymentId);
  if (deployment === undefined || deployment.removingSince !== undefined) return { kind: 'not_found' };
  const refusal = await verifyArtifact(deps, scope, deployment);
  if (refusal !== undefined) return refusal;
  const verified = await deps.deployments.deployment(scope, deploymentId);
  return verified?.verifiedAt === undefined ? { kind: 'not_found' } : { kind: 'verified', verifiedAt: verified.verifiedAt };
}
