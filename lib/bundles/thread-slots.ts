/** A pool of warm threads, one per deployment. It ends the least recently used idle thread when a new one needs the slot. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../engine/ids.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import type { Artifacts, Manifest } from '../ports/deployments.ts';
import { ArtifactFolders, type FolderLimits, type OpenedFolder } from './artifact-folders.ts';

export interface ThreadSlotSettings {
  readonly artifacts: Artifacts;
  /** Root folder for unpacked artifacts. Its content is deleted at the first use. Default: a folder in the temporary folder. */
  readonly folder?: string;
  readonly limits?: Partial<ThreadSlotLimits>;
}

export interface ThreadSlotLimits {
  readonly threads: number;
  readonly folders: FolderLimits;
  /** how long a module of an artifact may take to be imported */
  readonly importTimeoutMs: DurationMs;
}

export const threadSlotLimits: ThreadSlotLimits = {
  threads: 4,
  folders: { deployments: 8, bytes: 400 * 1_048_576 },
  importTimeoutMs: seconds(30),
};
/** Share of the process memory that a thread's heap may use. The rest is for buffers outside the heap. */
export const heapShare = 0.6;

export interface DeploymentThread {
  readonly isAlive: boolean;
  end(): Promise<void>;
}

type Unloadable = Extract<OpenedFolder, { kind: 'unloadable' }>;

/** The warm thread of a deployment. A manifest has one runtime, so all uses of a slot start the same kind of thread. */
interface ThreadSlot {
  readonly digest: string;
  /** number of uses that wait for the thread or run on it */
  activeCount: number;
  thread: DeploymentThread | undefined;
  starting: Promise<DeploymentThread | Unloadable> | undefined;
}

export class ThreadSlots {
  readonly limits: ThreadSlotLimits;
  readonly #folders: ArtifactFolders;
  /** by scope and deployment, least recently used first */
  readonly #slots = new Map<string, ThreadSlot>();

  constructor({ artifacts, folder, limits }: ThreadSlotSettings) {
    this.limits = { ...threadSlotLimits, ...limits };
    this.#folders = new ArtifactFolders(artifacts, folder ?? join(tmpdir(), 'stepwell-artifacts'), this.limits.folders);
  }

  /**
   * Runs work on the deployment's thread. The pool does not evict the thread meanwhile.
   * @throws Unavailable when the artifact store cannot be read now
   */
  async use<Thread extends DeploymentThread, Result>(
    scope: Scope,
    manifest: Manifest,
    threadKind: {
      readonly start: (folder: string) => Thread;
      readonly isInstance: (thread: DeploymentThread) => thread is Thread;
    },
    work: (thread: Thread) => Promise<Result>,
  ): Promise<Result | Unloadable> {
    const slot = this.#slotOf(scope, manifest);
    slot.activeCount += 1;
    try {
      const thread = await this.#threadIn(slot, scope, manifest, threadKind.start);
      if ('kind' in thread) return thread;
      return threadKind.isInstance(thread)
        ? await work(thread)
        : { kind: 'unloadable', message: 'the artifact is for another runtime' };
    } finally {
      slot.activeCount -= 1;
    }
  }

  /** Ends every thread. */
  async stop(): Promise<void> {
    const slots = [...this.#slots.values()];
    this.#slots.clear();
    await Promise.all(slots.map(endThread));
  }

  #slotOf(scope: Scope, { artifact: { sha256: digest }, runtime, deploymentId }: Manifest): ThreadSlot {
    const key = `${scope.projectId}#${scope.environment}#${runtime}#${deploymentId}#${digest}`;
    const slot = this.#slots.get(key) ?? { digest, activeCount: 0, thread: undefined, starting: undefined };
    this.#slots.delete(key);
    this.#slots.set(key, slot);
    return slot;
  }

  async #threadIn(slot: ThreadSlot, scope: Scope, manifest: Manifest, start: (folder: string) => DeploymentThread) {
    if (slot.thread?.isAlive === true) return slot.thread;
    slot.starting ??= this.#start(slot, scope, manifest, start).finally(() => (slot.starting = undefined));
    return slot.starting;
  }

  async #start(
    slot: ThreadSlot,
    scope: Scope,
    manifest: Manifest,
    start: (folder: string) => DeploymentThread,
  ): Promise<DeploymentThread | Unloadable> {
    const opened = await this.#folders.open(scope, manifest);
    await this.#evictIdle();
    if (opened.kind === 'unloadable') return opened;
    slot.thread = start(opened.folder);
    return slot.thread;
  }

  async #evictIdle(): Promise<void> {
    for (;;) {
      await this.#folders.evict((digestInUse) => [...this.#slots.values()].some(({ digest }) => digest === digestInUse));
      if (this.#slots.size <= this.limits.threads && !this.#folders.isOverLimit) return;
      const idle = [...this.#slots].find(([, { activeCount }]) => activeCount === 0);
      // All threads are busy, so the pool exceeds its limit for a while.
      if (idle === undefined) return;
      this.#slots.delete(idle[0]);
      await endThread(idle[1]);
    }
  }
}

async function endThread(slot: ThreadSlot): Promise<void> {
  await slot.starting?.catch(() => undefined);
  await slot.thread?.end();
}
