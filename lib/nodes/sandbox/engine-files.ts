/**
 * Where the thread's code and QuickJS itself lie. A bundle has both beside it under these names, put there by the
 * build; in a checkout they are where they were written and installed.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** What the build puts beside a bundle that runs scripts, and from what. */
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
