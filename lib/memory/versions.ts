/** Published versions in memory: workflows, lenses and queries. */
import { MemoryDeletions } from './deletions.ts';
import { MemoryDrafts } from './drafts.ts';
import { defined } from '../base/defined.ts';
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  Advance,
  AdvanceOptions,
  Authorship,
  DeletableNames,
  Lenses,
  Numbered,
  Queries,
  Summary,
  SummaryFilter,
  SummaryPage,
  VersionPage,
  VersionRecord,
  VersionStore,
  Workflows,
} from '../ports/versions.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

class MemoryVersions<Version extends Numbered, Facts extends object>
  implements VersionStore<Version, Facts>, DeletableNames<Version, Facts>
{
  readonly #factsOf: (to: Facts) => Facts;
  readonly #versions = new Map<string, { readonly version: Version; readonly record: VersionRecord }>();
  /** by scope, then by name */
  readonly #summaries = new Map<string, Map<Version['name'], Summary<Version, Facts>>>();
  /** the last version numbers of freed names, by scope and name */
  readonly #freed = new Map<string, number>();

  /** @param factsOf selects the facts of a version that its summary has */
  constructor(factsOf: (to: Facts) => Facts) {
    this.#factsOf = factsOf;
  }

  async putVersion(scope: Scope, version: Version, at: Instant, authorship: Authorship = {}): Promise<'stored' | 'occupied'> {
    const key = versionKey(scope, version);
    if (this.#versions.has(key)) return 'occupied';
    const record = { version: version.version, createdAt: at, ...authorship };
    this.#versions.set(key, { version: frozenCopy(version), record });
    return 'stored';
  }

  async versions(
    scope: Scope,
    name: Version['name'],
    { limit, before = Infinity }: { readonly limit: number; readonly before?: number },
  ): Promise<VersionPage> {
    const numbers = (await this.versionNumbers(scope, name)).filter((number) => number < before).toReversed();
    const versions = numbers
      .slice(0, limit)
      .flatMap((version) => this.#versions.get(versionKey(scope, { name, version }))?.record ?? []);
    const last = versions.at(-1);
    return numbers.length > limit && last !== undefined ? { versions, next: last.version } : { versions };
  }

  async version(scope: Scope, name: Version['name'], version: number): Promise<Version | undefined> {
    return this.#versions.get(versionKey(scope, { name, version }))?.version;
  }

  async advance(scope: Scope, to: Advance<Version, Facts>, at: Instant, options?: AdvanceOptions): Promise<boolean> {
    const { name, version } = to;
    const known = this.#summariesOf(scope).get(name);
    if (known !== undefined && (known.latestVersion >= version || known.deletingSince !== undefined)) return false;
    if (this.#freed.has(nameKey(scope, name))) return false;
    const { archivedAt, createdAt, firstVersion } = known ?? { createdAt: at };
    const preserved = defined({
      archivedAt: archivedAt === undefined || options?.shouldUnarchive === true ? undefined : archivedAt,
      firstVersion,
    });
    const moved = { name, createdAt, ...preserved, ...this.#factsOf(to), latestVersion: version, updatedAt: at };
    this.#summariesOf(scope).set(name, frozenCopy(moved));
    return true;
  }

  async summary(scope: Scope, name: Version['name']): Promise<Summary<Version, Facts> | undefined> {
    return this.#summariesOf(scope).get(name);
  }

  async list(
    scope: Scope,
    { limit, after, archived, prefix = '' }: SummaryFilter<Version['name']>,
  ): Promise<SummaryPage<Version, Facts>> {
    const rest = [...this.#summariesOf(scope).values()]
      .filter(({ name, archivedAt }) => (archived || archivedAt === undefined) && (after === undefined || name > after))
      .filter(({ name }) => name.startsWith(prefix))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const summaries = rest.slice(0, limit);
    const last = summaries.at(-1);
    return rest.length > limit && last !== undefined ? { summaries, next: last.name } : { summaries };
  }

  async archive(scope: Scope, name: Version['name'], at: Instant): Promise<boolean> {
    const known = this.#summariesOf(scope).get(name);
    if (known === undefined) return false;
    if (known.archivedAt === undefined) this.#summariesOf(scope).set(name, frozenCopy({ ...known, archivedAt: at }));
    return true;
  }

  async close(scope: Scope, { name, version }: Pick<Version, 'name' | 'version'>, at: Instant): Promise<boolean> {
    const known = this.#summariesOf(scope).get(name);
    if (known?.latestVersion !== version) return false;
    if (known.deletingSince === undefined) this.#summariesOf(scope).set(name, frozenCopy({ ...known, deletingSince: at }));
    return true;
  }

  async free(scope: Scope, { name, version }: Pick<Version, 'name' | 'version'>): Promise<void> {
    const known = this.#summariesOf(scope).get(name);
    if (known?.deletingSince === undefined || known.latestVersion !== version) return;
    this.#freed.set(nameKey(scope, name), known.latestVersion);
    this.#summariesOf(scope).delete(name);
  }

  async freedAfter(scope: Scope, name: Version['name']): Promise<number | undefined> {
    return this.#freed.get(nameKey(scope, name));
  }

  async skipTo(scope: Scope, name: Version['name'], number: number): Promise<boolean> {
    const last = this.#freed.get(nameKey(scope, name));
    if (last === undefined || last >= number) return false;
    this.#freed.set(nameKey(scope, name), number);
    return true;
  }

  async reopen(scope: Scope, to: Advance<Version, Facts>, at: Instant): Promise<boolean> {
    const { name, version } = to;
    const last = this.#freed.get(nameKey(scope, name));
    if (last === undefined || last >= version) return false;
    this.#freed.delete(nameKey(scope, name));
    const opened = { name, ...this.#factsOf(to), latestVersion: version, firstVersion: version, createdAt: at, updatedAt: at };
    this.#summariesOf(scope).set(name, frozenCopy(opened));
    return true;
  }

  async versionNumbers(scope: Scope, name: Version['name']): Promise<readonly number[]> {
    const prefix = `${nameKey(scope, name)}#`;
    const numbers = [...this.#versions.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => Number(key.slice(prefix.length)));
    return numbers.toSorted((one, other) => one - other);
  }

  async removeVersion(scope: Scope, name: Version['name'], version: number): Promise<void> {
    this.#versions.delete(versionKey(scope, { name, version }));
  }

  #summariesOf(scope: Scope): Map<Version['name'], Summary<Version, Facts>> {
    const known = this.#summaries.get(scopeName(scope)) ?? new Map<Version['name'], Summary<Version, Facts>>();
    this.#summaries.set(scopeName(scope), known);
    return known;
  }
}

const nameKey = (scope: Scope, name: string): string => `${scopeName(scope)}#${name}`;
const versionKey = (scope: Scope, { name, version }: Numbered): string => `${nameKey(scope, name)}#${version}`;

const noFacts = (): object => ({});
const memoryWorkflows = (): Workflows => new MemoryVersions(noFacts);
export const memoryLenses = (): Lenses => new MemoryVersions(noFacts);
const memoryQueries = (): Queries => new MemoryVersions(({ kind }) => ({ kind }));

export const memoryDefinitions = () => ({
  workflows: memoryWorkflows(),
  lenses: memoryLenses(),
  queries: memoryQueries(),
  deletions: new MemoryDeletions(),
  drafts: new MemoryDrafts(),
});
