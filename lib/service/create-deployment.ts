/**
 * Takes a manifest, and the archive with it or the address to upload it to. The pointer is left alone. Whoever asks the
 * same again is answered the same; an id never means two manifests, not even after its removal.
 */
import type { KeyId, Scope } from '../engine/ids.ts';
import { after, minutes } from '../engine/time.ts';
import type { Upload } from '../ports/artifacts.ts';
import { type Manifest, activeIn } from '../ports/deployments.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { type ShownDeployment, shown } from './deployment-status.ts';
import { type ArchiveRefused, artifactOf, judgeArtifact, noteVerified } from './verify-artifact.ts';

export type CreateDeploymentAnswer =
  | {
      readonly kind: 'created' | 'standing';
      readonly deployment: ShownDeployment;
      /** absent where the archive is there and is right */
      readonly upload?: Upload;
    }
  | { readonly kind: 'deployment_exists' }
  | ArchiveRefused;

/** Fifty megabytes at half a megabit a second. */
const uploadTime = minutes(15);

type Needs = Pick<Deps, 'deployments' | 'artifacts' | 'notices' | 'clock'>;

/** @param archive what came in the same request; it is judged before anything is written */
export async function createDeployment(
  deps: Needs,
  scope: Scope,
  manifest: Manifest,
  { by, archive }: { readonly by: KeyId | null; readonly archive?: Uint8Array | undefined },
): Promise<CreateDeploymentAnswer> {
  const { deployments, artifacts, notices, clock } = deps;
  const id = manifest.deploymentId;
  const refusal = archive === undefined ? undefined : await judgeArtifact(manifest, archive);
  if (refusal !== undefined) return refusal;

  const created = await deployments.create(scope, { manifest, createdAt: clock.now(), createdBy: by });
  const standing = await deployments.deployment(scope, id);
  if (standing === undefined || !isSame(standing.manifest, manifest)) return { kind: 'deployment_exists' };
  // Also to whoever repeats the request: the first may have died before it could tell.
  await notices.deploymentChanged({ scope, deploymentId: id, change: 'created', changedAt: standing.createdAt });
  const name = artifactOf(scope, manifest);
  const isVerified = standing.verifiedAt !== undefined;
  if (!isVerified && archive !== undefined) {
    await artifacts.put(name, archive);
    await noteVerified(deps, scope, id);
  }
  const upload =
    isVerified || archive !== undefined
      ? undefined
      : await artifacts.uploadTo(name, manifest.artifact.bytes, after(clock.now(), uploadTime));
  const deployment = await deployments.deployment(scope, id);
  if (deployment === undefined) throw new Unavailable(`deployment ${id}`);
  return {
    kind: created === 'stored' ? 'created' : 'standing',
    deployment: shown(deployment, activeIn(await deployments.pointer(scope))),
    ...(upload === undefined ? {} : { upload }),
  };
}

/** The order of a list says nothing. */
const isSame = (one: Manifest, other: Manifest): boolean => told(one) === told(other);
const inOrder = (runtime: Manifest['runtime'], names: readonly string[]): readonly string[] =>
  runtime === 'code' ? names : names.toSorted();
const told = (manifest: Manifest): string =>
  JSON.stringify([
    manifest.deploymentId,
    manifest.specVersion,
    manifest.runtime,
    // Of code it does: of two versions the later one is the one that runs start with.
    inOrder(
      manifest.runtime,
      manifest.workflows.map(({ name, version }) => JSON.stringify([name, version])),
    ),
    manifest.steps.map(({ name }) => name).toSorted(),
    manifest.files.map(({ path, sha256, bytes }) => JSON.stringify([path, sha256, bytes])).toSorted(),
    manifest.artifact.sha256,
    manifest.artifact.bytes,
  ]);
