/** Lenses in memory. */
import type { LensName, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { LensSummary, LensVersion, Lenses } from '../ports/lenses.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

type ListOptions = Parameters<Lenses['list']>[1];
type Listed = Awaited<ReturnType<Lenses['list']>>;

export class MemoryLenses implements Lenses {
  readonly #versions = new Map<string, LensVersion>();
  /** by scope, then by name */
  readonly #summaries = new Map<string, Map<LensName, LensSummary>>();

  async putVersion(scope: Scope, version: LensVersion, _at: Instant): Promise<'stored' | 'occupied'> {
    const key = versionKey(scope, version.name, version.version);
    if (this.#versions.has(key)) return 'occupied';
    this.#versions.set(key, kept(version));
    return 'stored';
  }

  async version(scope: Scope, name: LensName, version: number): Promise<LensVersion | undefined> {
    return this.#versions.get(versionKey(scope, name, version));
  }

  async advance(scope: Scope, name: LensName, version: number, at: Instant): Promise<void> {
    const known = this.#of(scope).get(name);
    if (known !== undefined && known.latestVersion >= version) return;
    this.#of(scope).set(name, kept({ ...(known ?? { name, createdAt: at }), latestVersion: version, updatedAt: at }));
  }

  async summary(scope: Scope, name: LensName): Promise<LensSummary | undefined> {
    return this.#of(scope).get(name);
  }

  async list(scope: Scope, { limit, after, archived }: ListOptions): Promise<Listed> {
    const rest = [...this.#of(scope).values()]
      .filter((summary) => (archived || summary.archivedAt === undefined) && (after === undefined || summary.name > after))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const lenses = rest.slice(0, limit);
    const last = lenses.at(-1);
    return rest.length > limit && last !== undefined ? { lenses, next: last.name } : { lenses };
  }

  async archive(scope: Scope, name: LensName, at: Instant): Promise<boolean> {
    const known = this.#of(scope).get(name);
    if (known === undefined) return false;
    if (known.archivedAt === undefined) this.#of(scope).set(name, kept({ ...known, archivedAt: at }));
    return true;
  }

  #of(scope: Scope): Map<LensName, LensSummary> {
    const known = this.#summaries.get(scopeName(scope)) ?? new Map<LensName, LensSummary>();
    this.#summaries.set(scopeName(scope), known);
    return known;
  }
}

const versionKey = (scope: Scope, name: LensName, version: number): string => `${scopeName(scope)}#${name}#${version}`;
