/**
 * Creates a deployment from a manifest. The archive comes in the same request, or the response contains an upload URL. A repeated
 * request returns the same deployment. An id never refers to two manifests, even after its removal. Nothing is activated.
 */
import { defined } from '../../base/defined.ts';
import type { KeyId, Scope } from '../../engine/ids.ts';
import { after, minutes } from '../../engine/time.ts';
import { type Manifest, activeDeploymentsIn } from '../../ports/deployments.ts';
import type { PresignedUpload } from '../../ports/uploads.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { type DeploymentView, deploymentViewOf } from './deployment-status.ts';
import { type ArchiveRefused, artifactOf, checkArtifact, recordVerified } from './verify-artifact.ts';

export type CreateDeploymentResult =
  | {
      readonly kind: 'created' | 'existing';
      readonly deployment: DeploymentView;
      /** absent if the archive is already verified */
      readonly upload?: PresignedUpload;
    }
  | { readonly kind: 'deployment_exists' }
  | ArchiveRefused;

/** Enough for 50 MB at 0.5 Mbit/s. */
export const uploadUrlLifetime = minutes(15);

type Needs = Pick<Deps, 'deployments' | 'artifacts' | 'notices' | 'clock'>;

/** @param archive the archive of the request, if any; it is checked before anything is written */
export async function createDeployment(
  deps: Needs,
  scope: Scope,
  manifest: Manifest,
  { by, archive }: { readonly by: KeyId | null; readonly archive?: Uint8Array | undefined },
): Promise<CreateDeploymentResult> {
  const { deployments, artifacts, notices, clock } = deps;
  const id = manifest.deploymentId;
  const refusal = archive === undefined ? undefined : await checkArtifact(manifest, archive);
  if (refusal !== undefined) return refusal;

  const created = await deployments.create(scope, { manifest, createdAt: clock.now(), createdBy: by });
  const existing = await deployments.deployment(scope, id);
  if (existing === undefined || !isSame(existing.manifest, manifest)) return { kind: 'deployment_exists' };
  // A repeated request sends it again, because the first request may have died before it did.
  await notices.deploymentChanged({ scope, deploymentId: id, change: 'created', changedAt: existing.createdAt });
  const name = artifactOf(scope, manifest);
  const isVerified = existing.verifiedAt !== undefined;
  if (!isVerified && archive !== undefined) {
    await artifacts.put(name, archive);
    await recordVerified(deps, scope, id);
  }
  const upload =
    isVerified || archive !== undefined
      ? undefined
      : await artifacts.presignUpload(name, manifest.artifact.bytes, after(clock.now(), uploadUrlLifetime));
  const deployment = await deployments.deployment(scope, id);
  if (deployment === undefined) throw new Unavailable(`deployment ${id}`);
  return defined({
    kind: created === 'stored' ? 'created' : 'existing',
    deployment: deploymentViewOf(deployment, activeDeploymentsIn(await deployments.pointer(scope))),
    upload,
  });
}

/** Compares two manifests; the order of their lists does not matter, except for versions of code. */
const isSame = (one: Manifest, other: Manifest): boolean => fingerprintOf(one) === fingerprintOf(other);
const normalizedNames = (runtime: Manifest['runtime'], names: readonly string[]): readonly string[] =>
  runtime === 'code' ? names : names.toSorted();
const fingerprintOf = (manifest: Manifest): string =>
  JSON.stringify([
    manifest.deploymentId,
    manifest.specVersion,
    manifest.runtime,
    manifest.app,
    // Runs start on the last listed version of a code workflow, so that order matters.
    normalizedNames(
      manifest.runtime,
      manifest.workflows.map(({ name, version, deadlineSeconds }) => JSON.stringify([name, version, deadlineSeconds])),
    ),
    manifest.steps.map(({ name }) => name).toSorted(),
    ...(manifest.devkit === undefined ? [] : [Object.entries(manifest.devkit).map(String).toSorted()]),
    manifest.files.map(({ path, sha256, bytes }) => JSON.stringify([path, sha256, bytes])).toSorted(),
    manifest.artifact.sha256,
    manifest.artifact.bytes,
  ]);
