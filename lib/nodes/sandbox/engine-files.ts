/**
 * Finds the thread's entry file and the QuickJS binary: next to the function's bundle after a build, otherwise in the source tree
 * and in node_modules.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** Files that the build puts next to a bundle that runs scripts, and their sources. */
export const sandboxFiles = {
  thread: { name: 'script-thread.mjs', source: 'lib/nodes/sandbox/thread.ts' },
  engine: { name: 'quickjs.wasm', source: 'quickjs-wasi/quickjs.wasm' },
} as const;

const fileBeside = (name: string): URL | undefined => {
  const url = new URL(name, import.meta.url);
  return existsSync(url) ? url : undefined;
};

export const threadFile = (): URL => fileBeside(sandboxFiles.thread.name) ?? new URL('thread.ts', import.meta.url);

export const engineFile = (): URL =>
  fileBeside(sandboxFiles.engine.name) ?? pathToFileURL(createRequire(import.meta.url).resolve(sandboxFiles.engine.source));
