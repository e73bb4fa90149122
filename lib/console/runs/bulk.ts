/** Work on several runs: four requests at a time. One that fails does not stop the others. */

const atOnce = 4;

export interface BulkFailure {
  readonly runId: string;
  readonly error: unknown;
}

/** @returns the runs for which it failed, in the order of the list */
export async function forEachRun(
  runIds: readonly string[],
  work: (runId: string) => Promise<unknown>,
  onProgress: (done: number) => void,
): Promise<readonly BulkFailure[]> {
  const failures = new Map<string, unknown>();
  let next = 0;
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let runId = runIds[next]; runId !== undefined; runId = runIds[next]) {
      next += 1;
      try {
        await work(runId);
      } catch (error) {
        failures.set(runId, error);
      }
      done += 1;
      onProgress(done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, runIds.length) }, worker));
  return runIds.flatMap((runId) => (failures.has(runId) ? [{ runId, error: failures.get(runId) }] : []));
}
