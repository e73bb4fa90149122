/** One version of a query: the latest, or the one asked for. Archived ones can still be read. */
import type { QueryName, Scope } from '../engine/ids.ts';
import type { QueryVersion } from '../engine/query/definition.ts';
import type { QuerySummary } from '../ports/queries.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';

export type GetQueryAnswer =
  | { readonly kind: 'found'; readonly summary: QuerySummary; readonly version: QueryVersion }
  | { readonly kind: 'query_not_found' }
  | { readonly kind: 'version_not_found' };

export async function getQuery(
  { queries }: Pick<Deps, 'queries'>,
  scope: Scope,
  name: QueryName,
  number?: number,
): Promise<GetQueryAnswer> {
  const summary = await queries.summary(scope, name);
  if (summary === undefined) return { kind: 'query_not_found' };
  const version = await queries.version(scope, name, number ?? summary.latestVersion);
  if (version !== undefined) return { kind: 'found', summary, version };
  // A version is written before its summary names it, so a missing latest one is a read that came to nothing.
  if (number === undefined) throw new Unavailable(`version ${summary.latestVersion} of ${name}`);
  return { kind: 'version_not_found' };
}
