/** Runs on a thread: imports a module, which is an author's program and may do anything, and tells what it exports. */
import { parentPort, workerData } from 'node:worker_threads';
import { wordsOf } from '../../engine/words-of.ts';
import type { AsideTask } from './import-aside.ts';
import { findSdk } from './own-sdk.ts';

const { module, wanted }: AsideTask = workerData;
const told = (message: unknown): void => parentPort?.postMessage(message);

interface Exported {
  readonly default?: unknown;
  readonly workflows: readonly { readonly spec: { readonly name?: unknown; readonly version?: unknown } }[];
  readonly files: readonly string[];
}

try {
  findSdk();
  const exported: Exported = await import(module);
  told({ value: wanted === 'default' ? exported.default : workflowsIn(exported) });
} catch (error) {
  told({ fault: wordsOf(error) });
}

function workflowsIn({ workflows, files }: Exported): readonly object[] {
  return workflows.map(({ spec: { name, version } }, at) => ({
    name,
    ...(version === undefined ? {} : { version }),
    file: files[at],
  }));
}
