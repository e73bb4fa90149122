/** Published versions in memory: of workflows, of lenses, of queries. */
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  Advance,
  Lenses,
  Numbered,
  Queries,
  Summary,
  SummaryFilter,
  SummaryPage,
  VersionStore,
  Workflows,
} from '../ports/versions.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

class MemoryVersions<Version extends Numbered, Facts extends object> implements VersionStore<Version, Facts> {
  readonly #factsOf: (to: Facts) => Facts;
  readonly #versions = new Map<string, Version>();
  /** by scope, then by name */
  readonly #summaries = new Map<string, Map<Version['name'], Summary<Version, Facts>>>();

  /** @param factsOf what a summary tells of its version, and nothing else of it */
  constructor(factsOf: (to: Facts) => Facts) {
    this.#factsOf = factsOf;
  }

  async putVersion(scope: Scope, version: Version, _at: Instant): Promise<'stored' | 'occupied'> {
    const key = versionKey(scope, version);
    if (this.#versions.has(key)) return 'occupied';
    this.#versions.set(key, kept(version));
    return 'stored';
  }

  async version(scope: Scope, name: Version['name'], version: number): Promise<Version | undefined> {
    return this.#versions.get(versionKey(scope, { name, version }));
  }

  async advance(
    scope: Scope,
    to: Advance<Version, Facts>,
    at: Instant,
    { unarchives }: { unarchives: boolean } = { unarchives: false },
  ): Promise<void> {
    const { name, version } = to;
    const known = this.#of(scope).get(name);
    if (known !== undefined && known.latestVersion >= version) return;
    const { archivedAt, createdAt } = known ?? { createdAt: at };
    const stays = archivedAt === undefined || unarchives ? {} : { archivedAt };
    const moved = { name, createdAt, ...stays, ...this.#factsOf(to), latestVersion: version, updatedAt: at };
    this.#of(scope).set(name, kept(moved));
  }

  async summary(scope: Scope, name: Version['name']): Promise<Summary<Version, Facts> | undefined> {
    return this.#of(scope).get(name);
  }

  async list(scope: Scope, { limit, after, archived }: SummaryFilter<Version['name']>): Promise<SummaryPage<Version, Facts>> {
    const rest = [...this.#of(scope).values()]
      .filter((summary) => (archived || summary.archivedAt === undefined) && (after === undefined || summary.name > after))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const summaries = rest.slice(0, limit);
    const last = summaries.at(-1);
    return rest.length > limit && last !== undefined ? { summaries, next: last.name } : { summaries };
  }

  async archive(scope: Scope, name: Version['name'], at: Instant): Promise<boolean> {
    const known = this.#of(scope).get(name);
    if (known === undefined) return false;
    if (known.archivedAt === undefined) this.#of(scope).set(name, kept({ ...known, archivedAt: at }));
    return true;
  }

  #of(scope: Scope): Map<Version['name'], Summary<Version, Facts>> {
    const known = this.#summaries.get(scopeName(scope)) ?? new Map<Version['name'], Summary<Version, Facts>>();
    this.#summaries.set(scopeName(scope), known);
    return known;
  }
}

const versionKey = (scope: Scope, { name, version }: Numbered): string => `${scopeName(scope)}#${name}#${version}`;

const nothingMore = (): object => ({});
export const memoryWorkflows = (): Workflows => new MemoryVersions(nothingMore);
export const memoryLenses = (): Lenses => new MemoryVersions(nothingMore);
export const memoryQueries = (): Queries => new MemoryVersions(({ kind }) => ({ kind }));
