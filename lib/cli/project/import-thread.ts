/** Thread entry: imports an author's module and posts what it exports. */
import { parentPort, workerData } from 'node:worker_threads';
import { errorText } from '../../engine/error-text.ts';
import type { ImportTask } from './import-in-thread.ts';
import { registerSdkResolution } from './resolve-sdk.ts';

const { module, requestedExport }: ImportTask = workerData;
const postResult = (message: unknown): void => parentPort?.postMessage(message);

interface Exported {
  readonly default?: unknown;
  readonly workflows: readonly {
    readonly spec: { readonly name?: unknown; readonly version?: unknown; /** in milliseconds */ readonly deadline?: number };
  }[];
  readonly files: readonly string[];
}

try {
  registerSdkResolution();
  const exported: Exported = await import(module);
  postResult({ value: requestedExport === 'default' ? exported.default : workflowsIn(exported) });
} catch (error) {
  postResult({ error: errorText(error) });
}

function workflowsIn({ workflows, files }: Exported): readonly object[] {
  return workflows.map(({ spec: { name, version, deadline } }, index) => ({
    name,
    ...(version === undefined ? {} : { version }),
    ...(deadline === undefined ? {} : { deadlineSeconds: Math.ceil(deadline / 1_000) }),
    file: files[index],
  }));
}
