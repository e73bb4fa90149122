/** Executes workflow tasks of deployments on threads of this process. */
import type { Scope } from '../engine/ids.ts';
import { type DurationMs, seconds } from '../engine/time.ts';
import { errorMessage } from '../engine/error-text.ts';
import type { Manifest } from '../ports/deployments.ts';
import {
  type WorkflowTaskHandle,
  type WorkflowTaskEnd,
  type WorkflowTaskHost,
  type WorkflowTask,
  type Programs,
  programPath,
} from '../ports/programs.ts';
import type { BundleHost } from './local-bundles.ts';
import { ProgramThread } from './program-thread.ts';
import { programThreadFile, threadFile } from './thread-start.ts';
import type { DeploymentThread } from './thread-slots.ts';

export interface ProgramHost extends BundleHost {
  /** How long a killed workflow task may take to end before its thread is terminated. Default: `killTimeoutMs`. */
  readonly killTimeoutMs?: DurationMs;
  /** Entry file of the threads. Default: the built file. */
  readonly file?: URL;
}

export const killTimeoutMs = seconds(1);

const isProgramThread = (thread: DeploymentThread): thread is ProgramThread => thread instanceof ProgramThread;

export class ThreadPrograms implements Programs {
  readonly #host: ProgramHost;

  constructor(host: ProgramHost) {
    this.#host = host;
  }

  start(scope: Scope, manifest: Manifest, task: WorkflowTask, host: WorkflowTaskHost): WorkflowTaskHandle {
    const pending = new PendingWorkflowTask();
    if (!manifest.files.some(({ path }) => path === programPath)) {
      pending.settle({ kind: 'unloadable', message: `the artifact has no ${programPath}` });
      return pending;
    }
    void this.#handle(scope, manifest, pending, (thread, credentialVariables) => thread.start(task, host, credentialVariables));
    return pending;
  }

  async #handle(
    scope: Scope,
    manifest: Manifest,
    pending: PendingWorkflowTask,
    begin: (thread: ProgramThread, credentialVariables: Readonly<Record<string, string>>) => WorkflowTaskHandle,
  ): Promise<void> {
    const {
      threadSlots,
      clock,
      memoryMb,
      print,
      variables,
      readCredentialVariables,
      killTimeoutMs: effectiveKillTimeoutMs = killTimeoutMs,
      file,
    } = this.#host;
    const { deploymentId } = manifest;
    try {
      const credentialVariables = (await readCredentialVariables?.(deploymentId)) ?? {};
      const authorVariables = await variables?.();
      const start = (folder: string): ProgramThread =>
        new ProgramThread({
          deploymentId,
          folder,
          memoryMb,
          print,
          variables: { ...authorVariables, ...credentialVariables },
          clock,
          file: file ?? threadFile(programThreadFile),
          importTimeoutMs: threadSlots.limits.importTimeoutMs,
          killTimeoutMs: effectiveKillTimeoutMs,
        });
      pending.settle(
        await threadSlots.use(scope, manifest, { start, isInstance: isProgramThread }, (thread): Promise<WorkflowTaskEnd> => {
          if (!pending.hasEnded) pending.attach(begin(thread, credentialVariables));
          return pending.ended;
        }),
      );
    } catch (error) {
      // The artifact, its folder or its role is unavailable now. The worker defers the workflow task and tries again.
      pending.settle({ kind: 'unloadable', message: `the deployment cannot be started now: ${errorMessage(error)}` });
    }
  }
}

/** A workflow task whose thread may still be starting. It queues calls until the thread is ready. */
class PendingWorkflowTask implements WorkflowTaskHandle {
  readonly ended: Promise<WorkflowTaskEnd>;
  readonly #resolve: (end: WorkflowTaskEnd) => void;
  readonly #queuedCalls: ((handle: WorkflowTaskHandle) => void)[] = [];
  #handle: WorkflowTaskHandle | undefined;
  #hasEnded = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<WorkflowTaskEnd>();
    this.ended = promise;
    this.#resolve = resolve;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  settle(end: WorkflowTaskEnd): void {
    this.#hasEnded = true;
    this.#resolve(end);
  }

  attach(handle: WorkflowTaskHandle): void {
    this.#handle = handle;
    for (const call of this.#queuedCalls.splice(0)) call(handle);
    void handle.ended.then((end) => this.settle(end));
  }

  replaceHistory(...args: Parameters<WorkflowTaskHandle['replaceHistory']>): void {
    this.#forward((handle) => handle.replaceHistory(...args));
  }

  cancel(reason: string): void {
    this.#forward((handle) => handle.cancel(reason));
  }

  handOff(): void {
    this.#forward((handle) => handle.handOff());
  }

  async kill(message: string): Promise<void> {
    if (this.#handle === undefined) this.settle({ kind: 'timed_out', message, running: [] });
    else await this.#handle.kill(message);
  }

  #forward(call: (handle: WorkflowTaskHandle) => void): void {
    if (this.#handle === undefined) this.#queuedCalls.push(call);
    else call(this.#handle);
  }
}
