/**
 * Takes a manifest, and the archive with it or the address to upload it to. The pointer is left alone. Whoever asks the
 * same again is answered the same; an id never means two manifests, not even after its removal.
 */
import { defined } from '../../engine/defined.ts';
import type { KeyId, Scope } from '../../engine/ids.ts';
import { after, minutes } from '../../engine/time.ts';
import type { PresignedUpload } from '../../ports/artifacts.ts';
import { type Manifest, activeDeploymentIn } from '../../ports/deployments.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { type DeploymentView, deploymentViewOf } from './deployment-status.ts';
import { type ArchiveRefused, artifactOf, checkArtifact, recordVerified } from './verify-artifact.ts';

export type CreateDeploymentResult =
  | {
      readonly kind: 'created' | 'existing';
      readonly deployment: DeploymentView;
      /** absent where the archive is there and is right */
      readonly upload?: PresignedUpload;
    }
  | { readonly kind: 'deployment_exists' }
  | ArchiveRefused;

/** Fifty megabytes at half a megabit a second. */
const uploadUrlLifetime = minutes(15);

type Needs = Pick<Deps, 'deployments' | 'artifacts' | 'notices' | 'clock'>;

/** @param archive what came in the same request; it is judged before anything is written */
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
  // Also to whoever repeats the request: the first may have died before it could tell.
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
    deployment: deploymentViewOf(deployment, activeDeploymentIn(await deployments.pointer(scope))),
    upload,
  });
}

/** The order of a list says nothing. */
const isSame = (one: Manifest, other: Manifest): boolean => fingerprintOf(one) === fingerprintOf(other);
const normalizedNames = (runtime: Manifest['runtime'], names: readonly string[]): readonly string[] =>
  runtime === 'code' ? names : names.toSorted();
const fingerprintOf = (manifest: Manifest): string =>
  JSON.stringify([
    manifest.deploymentId,
    manifest.specVersion,
    manifest.runtime,
    // Of code it does: of two versions the later one is the one that runs start with.
    normalizedNames(
      manifest.runtime,
      manifest.workflows.map(({ name, version }) => JSON.stringify([name, version])),
    ),
    manifest.steps.map(({ name }) => name).toSorted(),
    manifest.files.map(({ path, sha256, bytes }) => JSON.stringify([path, sha256, bytes])).toSorted(),
    manifest.artifact.sha256,
    manifest.artifact.bytes,
  ]);
