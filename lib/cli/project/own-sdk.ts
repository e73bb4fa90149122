/**
 * `stepwell/sdk` and `stepwell/openworkflow`, as a project imports them: those that it has installed, else those that came with
 * this program. So a project in a checkout, or in an empty folder, is built all the same.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';

const doors: ReadonlyMap<string, string> = new Map([
  ['stepwell/sdk', '../../sdk/index'],
  ['stepwell/openworkflow', '../../openworkflow/index'],
]);

/** As it was written, or as it was built. */
const ownDoor = (path: string): URL => {
  const written = new URL(`${path}.ts`, import.meta.url);
  return existsSync(written) ? written : new URL(`${path}.js`, import.meta.url);
};

let isFound = false;
/** For modules that this process imports. */
export function findSdk(): void {
  if (isFound) return;
  isFound = true;
  registerHooks({
    resolve(specifier, context, next) {
      const path = doors.get(specifier);
      if (path === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return { url: ownDoor(path).href, shortCircuit: true };
      }
    },
  });
}

const asked = Symbol('asked already');

/** For modules that are bundled. */
export const sdkPlugin: Plugin = {
  name: 'stepwell-sdk',
  setup(bundling) {
    bundling.onResolve({ filter: /^stepwell\/(sdk|openworkflow)$/ }, async ({ path: name, pluginData, ...from }) => {
      const path = doors.get(name);
      if (pluginData === asked || path === undefined) return undefined;
      const { importer, resolveDir, kind } = from;
      const installed = await bundling.resolve(name, { importer, resolveDir, kind, pluginData: asked });
      return installed.errors.length === 0 ? installed : { path: fileURLToPath(ownDoor(path)) };
    });
  },
};
