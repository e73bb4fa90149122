/** Deployments and their artifacts in memory. */
import type { DeploymentId, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  ActivePointer,
  Deployment,
  DeploymentPage,
  DeploymentPosition,
  Deployments,
  PinnedRun,
  ArtifactName,
  Artifacts,
} from '../ports/deployments.ts';
import type { PresignedUpload } from '../ports/uploads.ts';
import { frozenCopy } from './frozen-copy.ts';
import { scopeName } from './runs.ts';

interface Pin {
  readonly since: Instant;
  readonly expiresAt: Instant;
}

interface ScopeDeployments {
  /** null: removed, with the id still reserved */
  readonly deployments: Map<DeploymentId, Deployment | null>;
  readonly pins: Map<DeploymentId, Map<RunId, Pin>>;
  pointer?: ActivePointer;
}

/** Deployments and the pointer to the active one, in memory. */
class MemoryDeployments implements Deployments {
  readonly #byScope = new Map<string, ScopeDeployments>();

  async create(scope: Scope, deployment: Deployment): Promise<'stored' | 'occupied'> {
    const { deployments } = this.#inScope(scope);
    if (deployments.has(deployment.manifest.deploymentId)) return 'occupied';
    deployments.set(deployment.manifest.deploymentId, frozenCopy(deployment));
    return 'stored';
  }

  async deployment(scope: Scope, id: DeploymentId): Promise<Deployment | undefined> {
    return this.#inScope(scope).deployments.get(id) ?? undefined;
  }

  async list(
    scope: Scope,
    { limit, after }: { readonly limit: number; readonly after?: DeploymentPosition },
  ): Promise<DeploymentPage> {
    const rest = [...this.#inScope(scope).deployments.values()]
      .filter((one) => one !== null)
      .filter((one) => after === undefined || isNewer(after, positionOf(one)))
      .toSorted((one, other) => (isNewer(positionOf(one), positionOf(other)) ? -1 : 1));
    const deployments = rest.slice(0, limit);
    const last = deployments.at(-1);
    return rest.length <= limit || last === undefined ? { deployments } : { deployments, next: positionOf(last) };
  }

  async markVerified(scope: Scope, id: DeploymentId, verifiedAt: Instant): Promise<void> {
    this.#change(scope, id, (deployment) => ({ ...deployment, verifiedAt }));
  }

  async markActivated(scope: Scope, id: DeploymentId, activatedAt: Instant): Promise<void> {
    this.#change(scope, id, (deployment) => ({ ...deployment, activatedAt }));
  }

  async setRemoving(scope: Scope, id: DeploymentId, since: Instant | null): Promise<void> {
    this.#change(scope, id, ({ removingSince: _before, ...deployment }) =>
      since === null ? deployment : { ...deployment, removingSince: since },
    );
  }

  async remove(scope: Scope, id: DeploymentId, _at: Instant): Promise<void> {
    const { deployments } = this.#inScope(scope);
    if (deployments.has(id)) deployments.set(id, null);
  }

  async pointer(scope: Scope): Promise<ActivePointer | undefined> {
    return this.#inScope(scope).pointer;
  }

  async movePointer(scope: Scope, from: number, pointer: ActivePointer): Promise<boolean> {
    const inScope = this.#inScope(scope);
    if ((inScope.pointer?.revision ?? 0) !== from) return false;
    inScope.pointer = frozenCopy(pointer);
    return true;
  }

  async pin(scope: Scope, id: DeploymentId, runId: RunId, pin: Pin): Promise<void> {
    const { pins } = this.#inScope(scope);
    pins.set(id, (pins.get(id) ?? new Map<RunId, Pin>()).set(runId, frozenCopy(pin)));
  }

  async extendPin(scope: Scope, id: DeploymentId, runId: RunId, pin: Pin): Promise<void> {
    const pinned = this.#inScope(scope).pins.get(id);
    if (pinned?.has(runId) === true) pinned.set(runId, frozenCopy(pin));
  }

  /** Removes pins that have expired, as the TTL of the table does. */
  deleteExpired(now: Instant): void {
    for (const { pins } of this.#byScope.values())
      for (const pinned of pins.values()) for (const [runId, { expiresAt }] of pinned) if (expiresAt <= now) pinned.delete(runId);
  }

  async unpin(scope: Scope, id: DeploymentId, runId: RunId): Promise<void> {
    this.#inScope(scope).pins.get(id)?.delete(runId);
  }

  async pinnedRuns(scope: Scope, id: DeploymentId, limit: number): Promise<readonly PinnedRun[]> {
    const pins = [...(this.#inScope(scope).pins.get(id) ?? [])].map(([runId, { since }]) => ({ runId, since }));
    return pins.slice(0, limit);
  }

  #change(scope: Scope, id: DeploymentId, change: (deployment: Deployment) => Deployment): void {
    const { deployments } = this.#inScope(scope);
    const existing = deployments.get(id);
    if (existing) deployments.set(id, frozenCopy(change(existing)));
  }

  #inScope(scope: Scope): ScopeDeployments {
    const known = this.#byScope.get(scopeName(scope));
    if (known !== undefined) return known;
    const created: ScopeDeployments = { deployments: new Map(), pins: new Map() };
    this.#byScope.set(scopeName(scope), created);
    return created;
  }
}

const positionOf = ({ createdAt, manifest }: Deployment): DeploymentPosition => ({
  createdAt,
  deploymentId: manifest.deploymentId,
});

/** Newest first; deployments of one moment in descending order of their ids. */
const isNewer = (one: DeploymentPosition, other: DeploymentPosition): boolean =>
  one.createdAt === other.createdAt ? one.deploymentId > other.deploymentId : one.createdAt > other.createdAt;

/** Artifacts in memory. An upload's URL is a name; `receive` stores an upload. */
export class MemoryArtifacts implements Artifacts {
  readonly #archives = new Map<string, Uint8Array>();

  async presignUpload(name: ArtifactName, bytes: number, expiresAt: Instant): Promise<PresignedUpload> {
    return { method: 'PUT', url: `memory:${nameOf(name)}`, headers: { 'content-length': String(bytes) }, expiresAt };
  }

  async put(name: ArtifactName, content: Uint8Array): Promise<void> {
    this.receive(`memory:${nameOf(name)}`, content);
  }

  async read(name: ArtifactName, limitBytes: number): Promise<Uint8Array | 'too_large' | undefined> {
    const content = this.#archives.get(`memory:${nameOf(name)}`);
    return content !== undefined && content.byteLength > limitBytes ? 'too_large' : content?.slice();
  }

  async remove(name: ArtifactName): Promise<void> {
    this.#archives.delete(`memory:${nameOf(name)}`);
  }

  /** Stores an upload without validation. */
  receive(url: string, content: Uint8Array): void {
    this.#archives.set(url, content.slice());
  }
}

const nameOf = ({ scope, deploymentId, sha256 }: ArtifactName): string => `${scopeName(scope)}/${deploymentId}/${sha256}`;

export const memoryDeployments = () => ({ deployments: new MemoryDeployments(), artifacts: new MemoryArtifacts() });
