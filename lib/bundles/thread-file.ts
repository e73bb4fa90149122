/** Where the thread's code lies: beside the function's bundle, put there by the build; in a checkout where it was written. */
import { existsSync } from 'node:fs';

/** What the build puts beside the function that runs deployments, and from what. */
export const bundleThreadFile = { name: 'bundle-thread.mjs', source: 'lib/bundles/thread-main.ts' } as const;

export const threadFile = (): URL => {
  const built = new URL(bundleThreadFile.name, import.meta.url);
  return existsSync(built) ? built : new URL('thread-main.ts', import.meta.url);
};
