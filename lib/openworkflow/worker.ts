/** The worker of that library, where the platform drives. */

export interface WorkerOptions {
  readonly concurrency?: number | undefined;
}

/**
 * Runs are driven by the installation, or by `stepwell worker start`, from what `stepwell deploy` has brought there. So this
 * worker has nothing to do: programs that start and stop one go on as they are.
 */
export class Worker {
  /** Nothing begins. */
  async start(): Promise<void> {}

  /** Nothing has to end: runs go on. */
  async stop(): Promise<void> {}

  /** @returns how many runs it has claimed: none */
  async tick(): Promise<number> {
    return 0;
  }
}
