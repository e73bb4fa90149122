/**
 * What a process remembers of deployed code, so that fewer calls wait for each other. A manifest never changes: an id never refers to two,
 * even after a removal. The rest may be outdated, so a start reads the pointer, and the pin of its run reads the deployment again.
 */
import { LRUCache } from 'lru-cache';
import type { DeploymentId, Scope } from '../../engine/ids.ts';
import type { Deployment, Deployments, Manifest } from '../../ports/deployments.ts';

/** More than the threads of a process. Manifests have up to 256 KB. */
const maxDeployments = 32;
const maxNames = 1_000;

export class KnownDeployments {
  readonly #verified = new LRUCache<string, Deployment>({ max: maxDeployments });
  /**
   * The names of workflows (project, environment and name, as JSON) whose last start in this process ran on an active deployment. The
   * next start of such a name reads the pointer at once.
   */
  readonly served = new LRUCache<string, true>({ max: maxNames });

  /** A deployment as it was when it was verified, or as it is. The pin of a run finds out whether its removal has begun since. */
  async deployment(
    deployments: Pick<Deployments, 'deployment'>,
    scope: Scope,
    id: DeploymentId,
  ): Promise<Deployment | undefined> {
    const key = keyOf(scope, id);
    const known = this.#verified.get(key);
    if (known !== undefined) return known;
    const found = await deployments.deployment(scope, id);
    if (found?.verifiedAt !== undefined && found.removingSince === undefined) this.#verified.set(key, found);
    return found;
  }

  /** Of a run's deployment, which is not removed while the run is open. @returns undefined if the scope has no such deployment */
  async manifest(deployments: Pick<Deployments, 'deployment'>, scope: Scope, id: DeploymentId): Promise<Manifest | undefined> {
    const found = await this.deployment(deployments, scope, id);
    return found?.manifest;
  }

  /** The next start reads the deployment. */
  forget(scope: Scope, id: DeploymentId): void {
    this.#verified.delete(keyOf(scope, id));
  }
}

const keyOf = ({ projectId, environment }: Scope, name: string): string => JSON.stringify([projectId, environment, name]);
