/** Published queries in memory. */
import type { QueryName, Scope } from '../engine/ids.ts';
import type { QueryVersion } from '../engine/query/definition.ts';
import type { Instant } from '../engine/time.ts';
import type { Queries, QuerySummary } from '../ports/queries.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

type ListOptions = Parameters<Queries['list']>[1];
type Listed = Awaited<ReturnType<Queries['list']>>;

export class MemoryQueries implements Queries {
  readonly #versions = new Map<string, QueryVersion>();
  /** by scope, then by name */
  readonly #summaries = new Map<string, Map<QueryName, QuerySummary>>();

  async putVersion(scope: Scope, query: QueryVersion, _at: Instant): Promise<'stored' | 'occupied'> {
    const key = versionKey(scope, query.name, query.version);
    if (this.#versions.has(key)) return 'occupied';
    this.#versions.set(key, kept(query));
    return 'stored';
  }

  async version(scope: Scope, name: QueryName, version: number): Promise<QueryVersion | undefined> {
    return this.#versions.get(versionKey(scope, name, version));
  }

  async advance(scope: Scope, { name, kind, version }: Parameters<Queries['advance']>[1], at: Instant): Promise<void> {
    const known = this.#of(scope).get(name);
    if (known !== undefined && known.latestVersion >= version) return;
    this.#of(scope).set(name, kept({ ...(known ?? { name, createdAt: at }), kind, latestVersion: version, updatedAt: at }));
  }

  async summary(scope: Scope, name: QueryName): Promise<QuerySummary | undefined> {
    return this.#of(scope).get(name);
  }

  async list(scope: Scope, { limit, after, archived }: ListOptions): Promise<Listed> {
    const rest = [...this.#of(scope).values()]
      .filter((summary) => (archived || summary.archivedAt === undefined) && (after === undefined || summary.name > after))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const queries = rest.slice(0, limit);
    const last = queries.at(-1);
    return rest.length > limit && last !== undefined ? { queries, next: last.name } : { queries };
  }

  async archive(scope: Scope, name: QueryName, at: Instant): Promise<boolean> {
    const known = this.#of(scope).get(name);
    if (known === undefined) return false;
    if (known.archivedAt === undefined) this.#of(scope).set(name, kept({ ...known, archivedAt: at }));
    return true;
  }

  #of(scope: Scope): Map<QueryName, QuerySummary> {
    const known = this.#summaries.get(scopeName(scope)) ?? new Map<QueryName, QuerySummary>();
    this.#summaries.set(scopeName(scope), known);
    return known;
  }
}

const versionKey = (scope: Scope, name: QueryName, version: number): string => `${scopeName(scope)}#${name}#${version}`;
