/** Lists the versions of a workflow, newest first, without their definitions. */
import type { Scope, WorkflowName } from '../../engine/ids.ts';
import type { VersionPage } from '../../ports/versions.ts';
import type { Deps } from '../deps.ts';
import { hasVersion } from './closed-reason.ts';

/** @returns undefined if there is no such workflow */
export async function listVersions(
  { workflows }: Pick<Deps, 'workflows'>,
  scope: Scope,
  name: WorkflowName,
  page: { readonly limit: number; readonly before?: number },
): Promise<VersionPage | undefined> {
  const summary = await workflows.summary(scope, name);
  if (summary === undefined) return undefined;
  const { versions, next } = await workflows.versions(scope, name, page);
  const own = versions.filter(({ version }) => hasVersion(summary, version));
  return next === undefined || own.length < versions.length ? { versions: own } : { versions: own, next };
}
