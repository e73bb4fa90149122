/**
 * Resolves `stepwell/sdk` and `stepwell/openworkflow` for a project: the installed package, or else the one of this program.
 * So a project without dependencies can be built too.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';

const sdkEntries: ReadonlyMap<string, string> = new Map([
  ['stepwell/sdk', '../../sdk/index'],
  ['stepwell/openworkflow', '../../openworkflow/index'],
]);

/** The TypeScript source in a checkout, the JavaScript file in the package. */
const bundledEntry = (path: string): URL => {
  const sourceUrl = new URL(`${path}.ts`, import.meta.url);
  return existsSync(sourceUrl) ? sourceUrl : new URL(`${path}.js`, import.meta.url);
};

let isRegistered = false;
/** Registers the resolution for imports of this process. */
export function registerSdkResolution(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve(specifier, context, next) {
      const path = sdkEntries.get(specifier);
      if (path === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return { url: bundledEntry(path).href, shortCircuit: true };
      }
    },
  });
}

const resolving = Symbol('resolving');

/** Resolution for esbuild bundles. */
export const sdkPlugin: Plugin = {
  name: 'stepwell-sdk',
  setup(build) {
    build.onResolve({ filter: /^stepwell\/(sdk|openworkflow)$/ }, async ({ path: name, pluginData, ...resolveOptions }) => {
      const path = sdkEntries.get(name);
      if (pluginData === resolving || path === undefined) return undefined;
      const { importer, resolveDir, kind } = resolveOptions;
      const installed = await build.resolve(name, { importer, resolveDir, kind, pluginData: resolving });
      return installed.errors.length === 0 ? installed : { path: fileURLToPath(bundledEntry(path)) };
    });
  },
};
