/** Publishing queries, as workflows are published: a version is written once under its number, and the summary follows it. */
import type { Finding } from '../engine/graph/definition.ts';
import type { QueryName, Scope } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { QueryDraft, QueryVersion } from '../engine/query/definition.ts';
import { judgeQuery } from '../engine/query/judge.ts';
import type { Instant } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';

type Published = {
  readonly kind: 'published';
  readonly version: number;
  readonly createdAt: Instant;
  readonly warnings: readonly Finding[];
};
type Invalid = { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] };

export type CreateQueryAnswer = Published | Invalid | { readonly kind: 'query_exists' };
export type PublishQueryAnswer = Published | Invalid | { readonly kind: 'query_not_found' } | { readonly kind: 'query_archived' };

type Needs = Pick<Deps, 'queries' | 'clock'>;

/** Version 1 of a new query. */
export async function createQuery({ queries, clock }: Needs, scope: Scope, draft: QueryDraft): Promise<CreateQueryAnswer> {
  const { query, findings } = judgeQuery(draft);
  if (query === undefined) return { kind: 'definition_invalid', findings };
  const createdAt = clock.now();
  const first: QueryVersion = { ...query, version: 1 };
  const put = await queries.putVersion(scope, first, createdAt);
  // Also for whoever died before: the summary of a version that stands is completed by the next who comes.
  const standing = put === 'stored' ? first : await queries.version(scope, query.name, 1);
  if (standing !== undefined) await queries.advance(scope, standing, createdAt);
  return put === 'stored' ? { kind: 'published', version: 1, createdAt, warnings: findings } : { kind: 'query_exists' };
}

/** How many others may publish the same query at the same moment before the caller is asked to come again. */
const mostRivals = 20;

/** The next version of a query that exists. */
export async function publishQueryVersion(
  { queries, clock }: Needs,
  scope: Scope,
  draft: QueryDraft,
): Promise<PublishQueryAnswer> {
  const summary = await queries.summary(scope, draft.name);
  if (summary === undefined) return { kind: 'query_not_found' };
  if (summary.archivedAt !== undefined) return { kind: 'query_archived' };
  const { query, findings } = judgeQuery(draft);
  if (query === undefined) return { kind: 'definition_invalid', findings };
  const createdAt = clock.now();
  for (let version = summary.latestVersion + 1; version <= summary.latestVersion + mostRivals; version += 1) {
    if ((await queries.putVersion(scope, { ...query, version }, createdAt)) === 'occupied') continue;
    await queries.advance(scope, { ...query, version }, createdAt);
    return { kind: 'published', version, createdAt, warnings: findings };
  }
  throw new Unavailable(`a free version number of ${draft.name}`);
}

export type ArchiveQueryAnswer =
  | { readonly kind: 'archived'; readonly archivedAt: Instant }
  | { readonly kind: 'query_not_found' };

/** Nodes that ask it fail from now on. Once more changes nothing. */
export async function archiveQuery({ queries, clock }: Needs, scope: Scope, name: QueryName): Promise<ArchiveQueryAnswer> {
  if (!(await queries.archive(scope, name, clock.now()))) return { kind: 'query_not_found' };
  const archivedAt = (await queries.summary(scope, name))?.archivedAt;
  invariant(archivedAt !== undefined, `${name} was archived, and its summary does not say when`);
  return { kind: 'archived', archivedAt };
}
