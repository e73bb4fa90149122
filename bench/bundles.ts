/** Sizes of the function bundles. A cold start reads and compiles the handler's bundle. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { FunctionName } from '../lib/contract/environment.ts';
import { buildFunctions } from '../scripts/build-functions.ts';

export interface BundleSize {
  readonly name: FunctionName;
  /** the handler, minified */
  readonly handlerBytes: number;
  /** other files of the asset */
  readonly assetBytes: number;
}

const handlerFile = 'index.mjs';

/** Maximum minified size of a handler: 1 MB. */
const maxBytes = 1_048_576;
/**
 * Larger maximums: the worker runs all node types, and the code function serves the World and has its own HTTP client for registered
 * applications.
 */
const exceptions: Partial<Record<FunctionName, number>> = {
  worker: 2_097_152,
  code: 1_835_008,
};

export const maxBytesOf = (name: FunctionName): number => exceptions[name] ?? maxBytes;

export const measureBundles = async (outdir: string): Promise<readonly BundleSize[]> =>
  sizesOf(
    outdir,
    (await buildFunctions({ outdir })).map(({ name }) => name),
  );

/** @param bundles the folder with the bundles of these functions */
export function sizesOf(bundles: string, names: readonly FunctionName[]): readonly BundleSize[] {
  return names.map((name) => {
    const folder = join(bundles, name);
    const deployed = readdirSync(folder).filter((one) => !one.endsWith('.map'));
    return {
      name,
      handlerBytes: statSync(join(folder, handlerFile)).size,
      assetBytes: deployed.reduce((sum, one) => sum + statSync(join(folder, one)).size, 0),
    };
  });
}
