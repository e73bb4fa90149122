/** Queries for whoever asks them on behalf of a run. A version never changes, so it is kept; whether it may be asked is read each time. */
import type { QueryName, Scope } from '../engine/ids.ts';
import type { QueryVersion } from '../engine/query/definition.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';

export type QueryAnswer =
  | { readonly kind: 'query'; readonly query: QueryVersion }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'version_unknown' }
  | { readonly kind: 'archived' };

const mostKept = 100;

export class ProjectQueries {
  readonly #deps: Pick<Deps, 'queries'>;
  readonly #kept = new Map<string, QueryVersion>();

  constructor(deps: Pick<Deps, 'queries'>) {
    this.#deps = deps;
  }

  /** @throws Unavailable where nobody can be asked at the moment */
  async of(scope: Scope, name: QueryName, number?: number): Promise<QueryAnswer> {
    const { queries } = this.#deps;
    const summary = await queries.summary(scope, name);
    if (summary === undefined) return { kind: 'unknown' };
    if (summary.archivedAt !== undefined) return { kind: 'archived' };
    const version = number ?? summary.latestVersion;
    const key = [scope.projectId, scope.environment, name, version].join('#');
    const query = this.#kept.get(key) ?? (await queries.version(scope, name, version));
    if (query === undefined) {
      if (number === undefined) throw new Unavailable(`version ${version} of the query ${name}`);
      return { kind: 'version_unknown' };
    }
    this.#keep(key, query);
    return { kind: 'query', query };
  }

  #keep(key: string, query: QueryVersion): void {
    this.#kept.set(key, query);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > mostKept && oldest.done !== true) this.#kept.delete(oldest.value);
  }
}
