/** The workflows of deployments of code, on threads of this process. */
import type { Scope } from '../engine/ids.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import { messageOf } from '../engine/words-of.ts';
import type { Manifest } from '../ports/deployments.ts';
import { type Drive, type DriveEnd, type DriveHost, type DriveTask, type Programs, programPath } from '../ports/programs.ts';
import type { BundleHost } from './local-bundles.ts';
import { ProgramThread } from './program-thread.ts';
import { programThreadFile, threadFile } from './thread-file.ts';
import type { HeldThread } from './thread-places.ts';

export interface ProgramHost extends BundleHost {
  /** How long code that is to end may take for it, before its thread ends with it. Default: `killMs`. */
  readonly killMs?: DurationMs;
  /** What runs inside the threads. Default: what the build put beside this. */
  readonly file?: URL;
}

const killMs = seconds(1);

const isProgramThread = (thread: HeldThread): thread is ProgramThread => thread instanceof ProgramThread;

export class ThreadPrograms implements Programs {
  readonly #host: ProgramHost;

  constructor(host: ProgramHost) {
    this.#host = host;
  }

  begin(scope: Scope, manifest: Manifest, task: DriveTask, host: DriveHost): Drive {
    const begun = new BegunDrive();
    if (!manifest.files.some(({ path }) => path === programPath)) {
      begun.settle({ kind: 'unloadable', message: `the artifact has no ${programPath}` });
      return begun;
    }
    void this.#drive(scope, manifest, begun, (thread, lent) => thread.begin(task, host, lent));
    return begun;
  }

  async #drive(
    scope: Scope,
    manifest: Manifest,
    begun: BegunDrive,
    begin: (thread: ProgramThread, lent: Readonly<Record<string, string>>) => Drive,
  ): Promise<void> {
    const { places, clock, memoryMb, print, variables, lend, killMs: within = killMs, file } = this.#host;
    const { deploymentId } = manifest;
    try {
      const lent = (await lend?.(deploymentId)) ?? {};
      const own = await variables?.();
      const start = (folder: string): ProgramThread =>
        new ProgramThread({
          deploymentId,
          folder,
          memoryMb,
          print,
          variables: { ...own, ...lent },
          clock,
          file: file ?? threadFile(programThreadFile),
          importMs: places.limits.importMs,
          killMs: within,
        });
      begun.settle(
        await places.use(scope, manifest, { start, is: isProgramThread }, (thread): Promise<DriveEnd> => {
          if (!begun.isOver) begun.goOn(begin(thread, lent));
          return begun.ended;
        }),
      );
    } catch (error) {
      // Where the artifact, a folder for it or its role cannot be had now: whoever drives comes back for it.
      begun.settle({ kind: 'unloadable', message: `the deployment cannot be begun now: ${messageOf(error)}` });
    }
  }
}

/** A drive whose thread may still be on its way: what it is told meanwhile, it is told then. */
class BegunDrive implements Drive {
  readonly ended: Promise<DriveEnd>;
  readonly #resolve: (end: DriveEnd) => void;
  readonly #early: ((drive: Drive) => void)[] = [];
  #drive: Drive | undefined;
  #isOver = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<DriveEnd>();
    this.ended = promise;
    this.#resolve = resolve;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  settle(end: DriveEnd): void {
    this.#isOver = true;
    this.#resolve(end);
  }

  goOn(drive: Drive): void {
    this.#drive = drive;
    for (const tell of this.#early.splice(0)) tell(drive);
    void drive.ended.then((end) => this.settle(end));
  }

  overtake(...given: Parameters<Drive['overtake']>): void {
    this.#tell((drive) => drive.overtake(...given));
  }

  cancel(reason: string): void {
    this.#tell((drive) => drive.cancel(reason));
  }

  handOn(): void {
    this.#tell((drive) => drive.handOn());
  }

  async kill(message: string): Promise<void> {
    if (this.#drive === undefined) this.settle({ kind: 'timed_out', message, running: [] });
    else await this.#drive.kill(message);
  }

  #tell(tell: (drive: Drive) => void): void {
    if (this.#drive === undefined) this.#early.push(tell);
    else tell(this.#drive);
  }
}
