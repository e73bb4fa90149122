/**
 * The manifests that a process has read. A deployment id never refers to two manifests, so a known one is not read again. A removed
 * deployment has no open run, because a run pins its deployment.
 */
import { LRUCache } from 'lru-cache';
import type { DeploymentId, Scope } from '../../engine/ids.ts';
import type { Deployments, Manifest } from '../../ports/deployments.ts';

/** More than the threads of a process. */
const maxManifests = 32;

export class ManifestCache {
  readonly #manifests = new LRUCache<string, Manifest>({ max: maxManifests });

  /** @returns undefined if the scope has no such deployment */
  async manifest(
    deployments: Pick<Deployments, 'deployment'>,
    { projectId, environment }: Scope,
    id: DeploymentId,
  ): Promise<Manifest | undefined> {
    const scope: Scope = { projectId, environment };
    const key = `${projectId}#${environment}#${id}`;
    const known = this.#manifests.get(key) ?? (await deployments.deployment(scope, id))?.manifest;
    if (known === undefined) return undefined;
    this.#manifests.set(key, known);
    return known;
  }
}
