/** Finds the entry file of a thread: next to the function's bundle after a build, otherwise the source file. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';

/** Built file name and source of the thread entry, one per runtime. */
export const bundleThreadFile = { name: 'bundle-thread.mjs', source: 'lib/bundles/thread-main.ts' } as const;

export const programThreadFile = { name: 'program-thread.mjs', source: 'lib/bundles/program-main.ts' } as const;

export const threadFile = ({ name, source }: { readonly name: string; readonly source: string }): URL => {
  const built = new URL(name, import.meta.url);
  return existsSync(built) ? built : new URL(basename(source), import.meta.url);
};
