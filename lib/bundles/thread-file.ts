/** Where the thread's code lies: beside the function's bundle, put there by the build; in a checkout where it was written. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';

/** What the build puts beside the function that runs deployments, and from what: one thread for each runtime. */
export const bundleThreadFile = { name: 'bundle-thread.mjs', source: 'lib/bundles/thread-main.ts' } as const;

export const programThreadFile = { name: 'program-thread.mjs', source: 'lib/bundles/program-main.ts' } as const;

export const threadFile = ({ name, source }: { readonly name: string; readonly source: string }): URL => {
  const built = new URL(name, import.meta.url);
  return existsSync(built) ? built : new URL(basename(source), import.meta.url);
};
