/** Published workflow versions in memory. */
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import type { Scope, WorkflowName } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { WorkflowStore, WorkflowSummary } from '../ports/workflow-store.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

type ListOptions = Parameters<WorkflowStore['list']>[1];
type Listed = Awaited<ReturnType<WorkflowStore['list']>>;

export class MemoryWorkflowStore implements WorkflowStore {
  readonly #versions = new Map<string, WorkflowVersion>();
  /** by scope, then by name */
  readonly #summaries = new Map<string, Map<WorkflowName, WorkflowSummary>>();

  async putVersion(scope: Scope, version: WorkflowVersion, _at: Instant): Promise<'stored' | 'occupied'> {
    const key = versionKey(scope, version.name, version.version);
    if (this.#versions.has(key)) return 'occupied';
    this.#versions.set(key, kept(version));
    return 'stored';
  }

  async version(scope: Scope, name: WorkflowName, version: number): Promise<WorkflowVersion | undefined> {
    return this.#versions.get(versionKey(scope, name, version));
  }

  async advance(scope: Scope, name: WorkflowName, version: number, at: Instant): Promise<void> {
    const known = this.#of(scope).get(name);
    if (known !== undefined && known.latestVersion >= version) return;
    this.#of(scope).set(name, kept({ ...(known ?? { name, createdAt: at }), latestVersion: version, updatedAt: at }));
  }

  async summary(scope: Scope, name: WorkflowName): Promise<WorkflowSummary | undefined> {
    return this.#of(scope).get(name);
  }

  async list(scope: Scope, { limit, after, archived }: ListOptions): Promise<Listed> {
    const rest = [...this.#of(scope).values()]
      .filter((summary) => (archived || summary.archivedAt === undefined) && (after === undefined || summary.name > after))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const workflows = rest.slice(0, limit);
    const last = workflows.at(-1);
    return rest.length > limit && last !== undefined ? { workflows, next: last.name } : { workflows };
  }

  async archive(scope: Scope, name: WorkflowName, at: Instant): Promise<boolean> {
    const known = this.#of(scope).get(name);
    if (known === undefined) return false;
    if (known.archivedAt === undefined) this.#of(scope).set(name, kept({ ...known, archivedAt: at }));
    return true;
  }

  #of(scope: Scope): Map<WorkflowName, WorkflowSummary> {
    const known = this.#summaries.get(scopeName(scope)) ?? new Map<WorkflowName, WorkflowSummary>();
    this.#summaries.set(scopeName(scope), known);
    return known;
  }
}

const versionKey = (scope: Scope, name: WorkflowName, version: number): string => `${scopeName(scope)}#${name}#${version}`;
