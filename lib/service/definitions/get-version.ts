/** Reads the latest or a given version of a workflow, query or lens; archived ones too. */
import type { Scope } from '../../engine/ids.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { hasVersion } from './closed-reason.ts';
import type { Numbered, Summary, VersionStore } from '../../ports/versions.ts';

export type GetVersionResult<Version extends Numbered, Facts extends object> =
  | { readonly kind: 'found'; readonly summary: Summary<Version, Facts>; readonly version: Version }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'version_not_found' };

export async function getVersion<Version extends Numbered, Facts extends object>(
  store: VersionStore<Version, Facts>,
  scope: Scope,
  name: Version['name'],
  number?: number,
): Promise<GetVersionResult<Version, Facts>> {
  const summary = await store.summary(scope, name);
  if (summary === undefined) return { kind: 'not_found' };
  const versionNumber = number ?? summary.latestVersion;
  const version = hasVersion(summary, versionNumber) ? await store.version(scope, name, versionNumber) : undefined;
  if (version !== undefined) return { kind: 'found', summary, version };
  // A version is written before its summary names it, so a missing latest version means an inconsistent read.
  if (number === undefined) throw new Unavailable(`version ${summary.latestVersion} of ${name}`);
  return { kind: 'version_not_found' };
}
