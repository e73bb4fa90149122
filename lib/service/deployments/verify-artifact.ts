/** Verifies that an archive matches its manifest and is safe to unpack. */
import { validateArchive, sha256 } from '../../artifact/archive-rules.ts';
import { findDevKit, supportedSdks, whyUnsupported } from '../../artifact/devkit.ts';
import { readArchive } from '../../artifact/read-archive.ts';
import type { DeploymentId, Scope } from '../../engine/ids.ts';
import { bundlePaths, devKitBundlePaths } from '../../ports/bundles.ts';
import type { Deployment, Manifest, ArtifactName } from '../../ports/deployments.ts';
import { programPath } from '../../ports/programs.ts';
import type { Deps } from '../deps.ts';

interface ArtifactError {
  /** stable code of the archive check */
  readonly code: string;
  readonly message: string;
  readonly path?: string;
}

/** Why an existing archive is refused. */
export type ArchiveRefused =
  | { readonly kind: 'artifact_digest_mismatch' }
  | { readonly kind: 'artifact_invalid'; readonly errors: readonly ArtifactError[] };

export type ArtifactRefusal = ArchiveRefused | { readonly kind: 'artifact_missing' };

export const artifactOf = (scope: Scope, { deploymentId, artifact }: Manifest): ArtifactName => ({
  scope,
  deploymentId,
  sha256: artifact.sha256,
});

/** Undefined if the archive is valid. */
export async function checkArtifact(manifest: Manifest, archive: Uint8Array): Promise<ArchiveRefused | undefined> {
  const isMismatch = archive.byteLength !== manifest.artifact.bytes || sha256(archive) !== manifest.artifact.sha256;
  if (isMismatch) return { kind: 'artifact_digest_mismatch' };
  const read = await readArchive(archive);
  if (read.kind === 'refused') return { kind: 'artifact_invalid', errors: [read] };
  const errors = [
    ...validateArchive(read.files, manifest.files),
    ...missingBundles(manifest, read.files),
    ...unsupportedSdk(manifest, read.files),
  ];
  return errors.length === 0 ? undefined : { kind: 'artifact_invalid', errors };
}

/** Bundle deployments need one bundle for workflows and one for steps; code deployments need one module. */
function missingBundles(manifest: Manifest, files: { readonly has: (path: string) => boolean }): readonly ArtifactError[] {
  const isCode = manifest.runtime === 'code';
  return neededPaths(manifest)
    .filter((path) => !files.has(path))
    .map((path) => ({
      code: isCode ? 'program_missing' : 'bundle_missing',
      message: isCode
        ? 'the archive does not contain the module that exports the workflows of the manifest'
        : 'the archive does not contain the bundle that handles messages for the workflows or steps of the manifest',
      path,
    }));
}

function neededPaths({ runtime, workflows, steps, devkit }: Manifest): readonly string[] {
  if (runtime === 'code') return [programPath];
  if (devkit !== undefined) return Object.values(devKitBundlePaths[devkit.format]);
  return [...(workflows.length > 0 ? [bundlePaths.workflow] : []), ...(steps.length > 0 ? [bundlePaths.step] : [])];
}

/**
 * The SDK keeps the runs of an app in the World that it is given. Only the runtime `devkit` gives it one, and only the versions that are
 * tested use it as they should. Otherwise the runs would be kept in files of the function, and would stay open.
 */
function unsupportedSdk({ runtime, devkit }: Manifest, files: ReadonlyMap<string, Uint8Array>): readonly ArtifactError[] {
  if (runtime === 'code') return [];
  const found = findDevKit(files);
  const error = (message: string): readonly ArtifactError[] => [
    { code: 'devkit_unsupported', message, ...(found === undefined ? {} : { path: found.path }) },
  ];
  if (devkit === undefined) {
    if (found === undefined) return [];
    return error(
      `the bundle contains Workflow DevKit ${found.version ?? 'of an unknown version'}, which needs the runtime devkit: deploy the app ` +
        'with `stepwell deploy` in its folder, after `npx workflow build`',
    );
  }
  if (found === undefined) return error('no bundle contains the Workflow DevKit: deploy the archive with the runtime bundle');
  if (found.version !== undefined && found.version !== devkit.sdkVersion)
    return error(
      `the bundle contains Workflow DevKit ${found.version}, and the manifest says ${devkit.sdkVersion}: build the app again`,
    );
  const reason = whyUnsupported(devkit);
  return reason === undefined
    ? []
    : error(`the app is built with Workflow DevKit ${devkit.sdkVersion}, ${reason}: use ${supportedSdks}`);
}

/** Verifies the uploaded archive and records the result. One verification is enough, because the upload URL is bound to the digest. */
export async function verifyArtifact(
  { artifacts, deployments, notices, clock }: Pick<Deps, 'artifacts' | 'deployments' | 'notices' | 'clock'>,
  scope: Scope,
  { manifest, verifiedAt }: Deployment,
): Promise<ArtifactRefusal | undefined> {
  if (verifiedAt !== undefined) return undefined;
  const archive = await artifacts.read(artifactOf(scope, manifest), manifest.artifact.bytes);
  if (archive === undefined) return { kind: 'artifact_missing' };
  if (archive === 'too_large') return { kind: 'artifact_digest_mismatch' };
  const refusal = await checkArtifact(manifest, archive);
  if (refusal === undefined) await recordVerified({ deployments, notices, clock }, scope, manifest.deploymentId);
  return refusal;
}

/** Sends the notice, then records the verification. After a crash in between, a repeated request sends the notice again. */
export async function recordVerified(
  { deployments, notices, clock }: Pick<Deps, 'deployments' | 'notices' | 'clock'>,
  scope: Scope,
  deploymentId: DeploymentId,
): Promise<void> {
  const changedAt = clock.now();
  await notices.deploymentChanged({ scope, deploymentId, change: 'verified', changedAt });
  await deployments.markVerified(scope, deploymentId, changedAt);
}
