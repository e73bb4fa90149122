/** Runs on a thread: imports what was bundled, which is an author's program, and tells which workflows it exports. */
import { parentPort, workerData } from 'node:worker_threads';

const told = (message: unknown): void => parentPort?.postMessage(message);

try {
  const { workflows, files } = await import(String(workerData));
  told({ workflows: workflows.map(({ spec }: { spec: object }, at: number) => ({ ...nameOf(spec), file: files[at] })) });
} catch (error) {
  told({ fault: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
}

function nameOf(spec: { name?: unknown; version?: unknown }): object {
  return { name: spec.name, ...(spec.version === undefined ? {} : { version: spec.version }) };
}
