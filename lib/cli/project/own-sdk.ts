/**
 * `stepwell/sdk`, as a project imports it: the one that it has installed, else the one that came with this program. So a
 * project in a checkout, or in an empty folder, is built all the same.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';

const name = 'stepwell/sdk';

/** As it was written, or as it was built. */
const ownSdk = (): URL => {
  const written = new URL('../../sdk/index.ts', import.meta.url);
  return existsSync(written) ? written : new URL('../../sdk/index.js', import.meta.url);
};

let isFound = false;
/** For modules that this process imports. */
export function findSdk(): void {
  if (isFound) return;
  isFound = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== name) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return { url: ownSdk().href, shortCircuit: true };
      }
    },
  });
}

const asked = Symbol('asked already');

/** For modules that are bundled. */
export const sdkPlugin: Plugin = {
  name: 'stepwell-sdk',
  setup(bundling) {
    bundling.onResolve({ filter: /^stepwell\/sdk$/ }, async ({ pluginData, importer, resolveDir, kind }) => {
      if (pluginData === asked) return undefined;
      const installed = await bundling.resolve(name, { importer, resolveDir, kind, pluginData: asked });
      return installed.errors.length === 0 ? installed : { path: fileURLToPath(ownSdk()) };
    });
  },
};
