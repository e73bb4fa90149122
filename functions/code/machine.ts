/** What a worker process takes from its machine. */
import { mkdtempSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';

/** A new directory, which the process removes. */
export const createTemporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'stepwell-worker-'));

/** The memory limit of the container if there is one, else the memory of the machine. */
export function availableMemoryBytes(): number {
  const constrainedBytes = process.constrainedMemory();
  return constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem();
}
