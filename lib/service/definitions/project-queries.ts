/** Looks up queries for nodes. Caches versions, because a version never changes. Reads the summary each time, because a query may be archived. */
import { LRUCache } from 'lru-cache';
import type { QueryName, Scope } from '../../engine/ids.ts';
import type { QueryVersion } from '../../engine/query/definition.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';

export type QueryLookupResult =
  | { readonly kind: 'query'; readonly query: QueryVersion }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'version_unknown' }
  | { readonly kind: 'archived' };

const maxCachedQueries = 100;

export class ProjectQueries {
  readonly #deps: Pick<Deps, 'queries'>;
  readonly #cached = new LRUCache<string, QueryVersion>({ max: maxCachedQueries });

  constructor(deps: Pick<Deps, 'queries'>) {
    this.#deps = deps;
  }

  /** @throws Unavailable if the query store cannot be read now */
  async of(scope: Scope, name: QueryName, number?: number): Promise<QueryLookupResult> {
    const { queries } = this.#deps;
    const summary = await queries.summary(scope, name);
    if (summary === undefined) return { kind: 'unknown' };
    if (summary.archivedAt !== undefined) return { kind: 'archived' };
    const version = number ?? summary.latestVersion;
    const key = [scope.projectId, scope.environment, name, version].join('#');
    const query = this.#cached.get(key) ?? (await queries.version(scope, name, version));
    if (query === undefined) {
      if (number === undefined) throw new Unavailable(`version ${version} of the query ${name}`);
      return { kind: 'version_unknown' };
    }
    this.#cached.set(key, query);
    return { kind: 'query', query };
  }
}
