/** The library's worker class, without work: the platform runs the workflow tasks. */

export interface WorkerOptions {
  readonly concurrency?: number | undefined;
}

/**
 * The installation or `stepwell worker start` runs the workflow tasks, from the code that `stepwell deploy` has uploaded. This
 * class has nothing to do. It exists so that programs that start and stop a worker need no change.
 */
export class Worker {
  /** Has no effect. */
  async start(): Promise<void> {}

  /** Has no effect: runs continue. */
  async stop(): Promise<void> {}

  /** @returns the number of claimed runs: 0 */
  async tick(): Promise<number> {
    return 0;
  }
}
