/** Publishes queries: validates the draft and fills in its defaults first. */
import type { Finding } from '../../engine/graph/definition.ts';
import type { Scope } from '../../engine/ids.ts';
import type { QueryDefinition, QueryDraft, QueryVersion } from '../../engine/query/definition.ts';
import { validateQuery } from '../../engine/query/validate-query.ts';
import type { Deps } from '../deps.ts';
import { type NoSuchName, type Published, publishFirst, publishNext } from './publish-version.ts';

type Accepted = Published & { readonly warnings: readonly Finding[] };
type Invalid = { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] };

export type CreateQueryResult = Accepted | Invalid | { readonly kind: 'exists' };
export type PublishQueryResult = Accepted | Invalid | NoSuchName;

type Needs = Pick<Deps, 'queries' | 'clock'>;

/** Version 1 of a new query. */
export async function createQuery(deps: Needs, scope: Scope, draft: QueryDraft): Promise<CreateQueryResult> {
  const { query, findings } = validateQuery(draft);
  if (query === undefined) return { kind: 'definition_invalid', findings };
  const result = await publishFirst(publication(deps, scope, query));
  return result.kind === 'published' ? { ...result, warnings: findings } : result;
}

/** The next version of a query that exists. */
export async function publishQueryVersion(deps: Needs, scope: Scope, draft: QueryDraft): Promise<PublishQueryResult> {
  const summary = await deps.queries.summary(scope, draft.name);
  if (summary === undefined) return { kind: 'not_found' };
  const { query, findings } = validateQuery(draft);
  if (query === undefined) return { kind: 'definition_invalid', findings };
  return { ...(await publishNext(summary, publication(deps, scope, query))), warnings: findings };
}

const publication = ({ queries, clock }: Needs, scope: Scope, query: QueryDefinition) => ({
  store: queries,
  clock,
  scope,
  name: query.name,
  numbered: (version: number): QueryVersion => ({ ...query, version }),
});
