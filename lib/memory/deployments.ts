/** Deployments and the pointer to the active one, in memory. */
import type { DeploymentId, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { ActivePointer, Deployment, DeploymentPage, DeploymentPosition, Deployments, Holder } from '../ports/deployments.ts';
import { kept } from './kept.ts';
import { scopeName } from './runs.ts';

interface Shelf {
  /** null: removed, and its id is taken all the same */
  readonly deployments: Map<DeploymentId, Deployment | null>;
  readonly holders: Map<DeploymentId, Map<RunId, Instant>>;
  pointer?: ActivePointer;
}

export class MemoryDeployments implements Deployments {
  readonly #shelves = new Map<string, Shelf>();

  async create(scope: Scope, deployment: Deployment): Promise<'stored' | 'occupied'> {
    const { deployments } = this.#shelf(scope);
    if (deployments.has(deployment.manifest.deploymentId)) return 'occupied';
    deployments.set(deployment.manifest.deploymentId, kept(deployment));
    return 'stored';
  }

  async deployment(scope: Scope, id: DeploymentId): Promise<Deployment | undefined> {
    return this.#shelf(scope).deployments.get(id) ?? undefined;
  }

  async list(
    scope: Scope,
    { limit, after }: { readonly limit: number; readonly after?: DeploymentPosition },
  ): Promise<DeploymentPage> {
    const rest = [...this.#shelf(scope).deployments.values()]
      .filter((one) => one !== null)
      .filter((one) => after === undefined || isNewer(after, positionOf(one)))
      .toSorted((one, other) => (isNewer(positionOf(one), positionOf(other)) ? -1 : 1));
    const deployments = rest.slice(0, limit);
    const last = deployments.at(-1);
    return rest.length <= limit || last === undefined ? { deployments } : { deployments, next: positionOf(last) };
  }

  async noteVerified(scope: Scope, id: DeploymentId, verifiedAt: Instant): Promise<void> {
    this.#change(scope, id, (deployment) => ({ ...deployment, verifiedAt }));
  }

  async noteActivated(scope: Scope, id: DeploymentId, activatedAt: Instant): Promise<void> {
    this.#change(scope, id, (deployment) => ({ ...deployment, activatedAt }));
  }

  async setRemoving(scope: Scope, id: DeploymentId, since: Instant | null): Promise<void> {
    this.#change(scope, id, ({ removingSince: _before, ...deployment }) =>
      since === null ? deployment : { ...deployment, removingSince: since },
    );
  }

  async remove(scope: Scope, id: DeploymentId, _at: Instant): Promise<void> {
    const { deployments } = this.#shelf(scope);
    if (deployments.has(id)) deployments.set(id, null);
  }

  async pointer(scope: Scope): Promise<ActivePointer | undefined> {
    return this.#shelf(scope).pointer;
  }

  async movePointer(scope: Scope, from: number, pointer: ActivePointer): Promise<boolean> {
    const shelf = this.#shelf(scope);
    if ((shelf.pointer?.revision ?? 0) !== from) return false;
    shelf.pointer = kept(pointer);
    return true;
  }

  async holdOpen(scope: Scope, id: DeploymentId, runId: RunId, { since }: { readonly since: Instant }): Promise<void> {
    const { holders } = this.#shelf(scope);
    holders.set(id, (holders.get(id) ?? new Map<RunId, Instant>()).set(runId, since));
  }

  async letGo(scope: Scope, id: DeploymentId, runId: RunId): Promise<void> {
    this.#shelf(scope).holders.get(id)?.delete(runId);
  }

  async holders(scope: Scope, id: DeploymentId, limit: number): Promise<readonly Holder[]> {
    const holders = [...(this.#shelf(scope).holders.get(id) ?? [])].map(([runId, since]) => ({ runId, since }));
    return holders.slice(0, limit);
  }

  #change(scope: Scope, id: DeploymentId, change: (deployment: Deployment) => Deployment): void {
    const { deployments } = this.#shelf(scope);
    const standing = deployments.get(id);
    if (standing) deployments.set(id, kept(change(standing)));
  }

  #shelf(scope: Scope): Shelf {
    const known = this.#shelves.get(scopeName(scope));
    if (known !== undefined) return known;
    const fresh: Shelf = { deployments: new Map(), holders: new Map() };
    this.#shelves.set(scopeName(scope), fresh);
    return fresh;
  }
}

const positionOf = ({ createdAt, manifest }: Deployment): DeploymentPosition => ({
  createdAt,
  deploymentId: manifest.deploymentId,
});

/** Newest first; deployments of one moment by their ids, the last first. */
const isNewer = (one: DeploymentPosition, other: DeploymentPosition): boolean =>
  one.createdAt === other.createdAt ? one.deploymentId > other.deploymentId : one.createdAt > other.createdAt;
