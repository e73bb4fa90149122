/** Deployments' code on threads of this process: one thread each, kept warm, the one used longest ago ended for another. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../engine/ids.ts';
import { type DurationMs, type Instant, between, seconds } from '../engine/time.ts';
import type { Artifacts } from '../ports/artifacts.ts';
import { type BundleAnswer, type BundleRequest, type Bundles, bundlePaths } from '../ports/bundles.ts';
import type { Clock } from '../ports/clock.ts';
import type { Manifest } from '../ports/deployments.ts';
import { ArtifactFolders, type FolderLimits } from './artifact-folders.ts';
import { BundleThread, type PrintedLine } from './bundle-thread.ts';

export interface BundleHost {
  readonly artifacts: Artifacts;
  readonly clock: Clock;
  /** of the heap of one thread */
  readonly memoryMb: number;
  readonly print: (line: PrintedLine) => void;
  /** Where artifacts are unpacked: a folder of this host's own, whose content is removed. Default: one in the temporary folder. */
  readonly folder?: string;
  readonly limits?: Partial<BundleLimits>;
}

export interface BundleLimits {
  readonly threads: number;
  readonly folders: FolderLimits;
  /** how long a bundle may take to be imported */
  readonly importMs: DurationMs;
}

export const bundleLimits: BundleLimits = {
  threads: 4,
  folders: { deployments: 8, bytes: 400 * 1_048_576 },
  importMs: seconds(30),
};

/** Every message of a namespace, too: `__wkf_workflow_<name>` or `__<namespace>_wkf_workflow_<name>`. */
const queueName = /^__(?:[a-z][a-z0-9]*_)?wkf_(?<bundle>workflow|step)_./;

const bundleOf = (queue: string): string | undefined => {
  const bundle = queueName.exec(queue)?.groups?.['bundle'];
  return bundle === 'workflow' || bundle === 'step' ? bundlePaths[bundle] : undefined;
};

interface Place {
  readonly digest: string;
  /** how many requests are on their way to the thread, or on it */
  waiting: number;
  thread: BundleThread | undefined;
  starting: Promise<BundleThread | BundleAnswer> | undefined;
}

export class LocalBundles implements Bundles {
  readonly #host: BundleHost;
  readonly #limits: BundleLimits;
  readonly #folders: ArtifactFolders;
  /** by scope and deployment, the one used last at the end */
  readonly #places = new Map<string, Place>();

  constructor(host: BundleHost) {
    this.#host = host;
    this.#limits = { ...bundleLimits, ...host.limits };
    const root = host.folder ?? join(tmpdir(), 'stepwell-artifacts');
    this.#folders = new ArtifactFolders(host.artifacts, root, this.#limits.folders);
  }

  /** Throws `Unavailable` where the artifact cannot be had now. */
  async deliver(
    scope: Scope,
    manifest: Manifest,
    request: BundleRequest,
    limits: { readonly endsAt: Instant; readonly signal: AbortSignal },
  ): Promise<BundleAnswer> {
    const bundle = bundleOf(request.queueName);
    if (bundle === undefined)
      return { kind: 'unloadable', message: `no bundle takes messages of the queue ${request.queueName}` };
    if (!manifest.files.some(({ path }) => path === bundle)) {
      return { kind: 'unloadable', message: `the artifact has no ${bundle}` };
    }
    const place = this.#placeOf(scope, manifest);
    place.waiting += 1;
    try {
      const thread = await this.#threadAt(place, scope, manifest);
      if (!(thread instanceof BundleThread)) return thread;
      const timeoutMs = between(this.#host.clock.now(), limits.endsAt);
      const answer = await thread.deliver({ bundle, request, timeoutMs, importMs: this.#limits.importMs, signal: limits.signal });
      // A module that could not be imported stays so on its thread.
      if (answer.kind === 'unloadable' && thread.isIdle) await thread.end();
      return answer;
    } finally {
      place.waiting -= 1;
    }
  }

  /** Ends every thread. */
  async stop(): Promise<void> {
    const places = [...this.#places.values()];
    this.#places.clear();
    await Promise.all(places.map(endThread));
  }

  #placeOf(scope: Scope, manifest: Manifest): Place {
    const digest = manifest.artifact.sha256;
    const key = `${scope.projectId}#${scope.environment}#${manifest.deploymentId}#${digest}`;
    const place = this.#places.get(key) ?? { digest, waiting: 0, thread: undefined, starting: undefined };
    this.#places.delete(key);
    this.#places.set(key, place);
    return place;
  }

  async #threadAt(place: Place, scope: Scope, manifest: Manifest): Promise<BundleThread | BundleAnswer> {
    if (place.thread?.isAlive === true) return place.thread;
    place.starting ??= this.#start(place, scope, manifest).finally(() => (place.starting = undefined));
    return place.starting;
  }

  async #start(place: Place, scope: Scope, manifest: Manifest): Promise<BundleThread | BundleAnswer> {
    const opened = await this.#folders.open(scope, manifest);
    await this.#makeRoom();
    if (opened.kind === 'unloadable') return opened;
    const { memoryMb, print } = this.#host;
    place.thread = new BundleThread({ deploymentId: manifest.deploymentId, folder: opened.folder, memoryMb, print });
    return place.thread;
  }

  async #makeRoom(): Promise<void> {
    for (;;) {
      await this.#folders.evict((held) => [...this.#places.values()].some(({ digest }) => digest === held));
      if (this.#places.size <= this.#limits.threads && !this.#folders.isOverfull) return;
      const idle = [...this.#places].find(([, { waiting }]) => waiting === 0);
      // All of them are at work: there are more for a while.
      if (idle === undefined) return;
      this.#places.delete(idle[0]);
      await endThread(idle[1]);
    }
  }
}

async function endThread(place: Place): Promise<void> {
  await place.starting?.catch(() => undefined);
  await place.thread?.end();
}
