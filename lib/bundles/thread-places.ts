/** Deployments' code on threads of this process: one thread each, kept warm, the one used longest ago ended for another. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../engine/ids.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import type { Artifacts } from '../ports/artifacts.ts';
import type { Manifest } from '../ports/deployments.ts';
import { ArtifactFolders, type FolderLimits, type OpenedFolder } from './artifact-folders.ts';

export interface PlaceSettings {
  readonly artifacts: Artifacts;
  /** Where artifacts are unpacked: a folder of these places' own, whose content is removed. Default: one in the temporary folder. */
  readonly folder?: string;
  readonly limits?: Partial<PlaceLimits>;
}

export interface PlaceLimits {
  readonly threads: number;
  readonly folders: FolderLimits;
  /** how long a module of an artifact may take to be imported */
  readonly importMs: DurationMs;
}

export const placeLimits: PlaceLimits = {
  threads: 4,
  folders: { deployments: 8, bytes: 400 * 1_048_576 },
  importMs: seconds(30),
};

export interface HeldThread {
  readonly isAlive: boolean;
  end(): Promise<void>;
}

type Unloadable = Extract<OpenedFolder, { kind: 'unloadable' }>;

/** What is kept between two uses. The thread is that of whoever starts it: a manifest has one runtime. */
interface Place {
  readonly digest: string;
  /** how many are on their way to the thread, or at work on it */
  waiting: number;
  thread: HeldThread | undefined;
  starting: Promise<HeldThread | Unloadable> | undefined;
}

export class ThreadPlaces {
  readonly limits: PlaceLimits;
  readonly #folders: ArtifactFolders;
  /** by scope and deployment, the one used last at the end */
  readonly #places = new Map<string, Place>();

  constructor({ artifacts, folder, limits }: PlaceSettings) {
    this.limits = { ...placeLimits, ...limits };
    this.#folders = new ArtifactFolders(artifacts, folder ?? join(tmpdir(), 'stepwell-artifacts'), this.limits.folders);
  }

  /**
   * Does a piece of work on the deployment's thread, which is not ended for another one meanwhile. Throws `Unavailable`
   * where the artifact cannot be had now.
   */
  async use<Thread extends HeldThread, Done>(
    scope: Scope,
    manifest: Manifest,
    of: { readonly start: (folder: string) => Thread; readonly is: (thread: HeldThread) => thread is Thread },
    work: (thread: Thread) => Promise<Done>,
  ): Promise<Done | Unloadable> {
    const place = this.#placeOf(scope, manifest);
    place.waiting += 1;
    try {
      const thread = await this.#threadAt(place, scope, manifest, of.start);
      if ('kind' in thread) return thread;
      return of.is(thread) ? await work(thread) : { kind: 'unloadable', message: 'the artifact is of another runtime' };
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

  #placeOf(scope: Scope, { artifact: { sha256: digest }, runtime, deploymentId }: Manifest): Place {
    const key = `${scope.projectId}#${scope.environment}#${runtime}#${deploymentId}#${digest}`;
    const place = this.#places.get(key) ?? { digest, waiting: 0, thread: undefined, starting: undefined };
    this.#places.delete(key);
    this.#places.set(key, place);
    return place;
  }

  async #threadAt(place: Place, scope: Scope, manifest: Manifest, start: (folder: string) => HeldThread) {
    if (place.thread?.isAlive === true) return place.thread;
    place.starting ??= this.#start(place, scope, manifest, start).finally(() => (place.starting = undefined));
    return place.starting;
  }

  async #start(
    place: Place,
    scope: Scope,
    manifest: Manifest,
    start: (folder: string) => HeldThread,
  ): Promise<HeldThread | Unloadable> {
    const opened = await this.#folders.open(scope, manifest);
    await this.#makeRoom();
    if (opened.kind === 'unloadable') return opened;
    place.thread = start(opened.folder);
    return place.thread;
  }

  async #makeRoom(): Promise<void> {
    for (;;) {
      await this.#folders.evict((held) => [...this.#places.values()].some(({ digest }) => digest === held));
      if (this.#places.size <= this.limits.threads && !this.#folders.isOverfull) return;
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
