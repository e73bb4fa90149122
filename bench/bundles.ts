/** How large what is deployed is: a cold start reads and compiles the handler's bundle. */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FunctionName } from '../lib/contract/environment.ts';
import { buildFunctions } from '../scripts/build-functions.ts';

export interface BundleSize {
  readonly name: FunctionName;
  /** the handler, minified */
  readonly handlerBytes: number;
  /** and what lies beside it in the asset */
  readonly assetBytes: number;
}

/** A handler may have 1 MB, minified: a cold start reads and compiles all of it. */
const maxBytes = 1_048_576;
/** More may have the library, which judges the stored queries of every kind and lenses with their contracts, and the worker, which runs every type of node. */
const exceptions: Partial<Record<FunctionName, number>> = { library: 1_179_648, worker: 2_359_296 };

export const maxBytesOf = (name: FunctionName): number => exceptions[name] ?? maxBytes;

export async function measureBundles(outdir: string): Promise<readonly BundleSize[]> {
  const bundles = await buildFunctions({ outdir });
  return bundles.map(({ name, file, bytes }) => {
    const folder = dirname(file);
    const deployed = readdirSync(folder).filter((one) => !one.endsWith('.map'));
    return { name, handlerBytes: bytes, assetBytes: deployed.reduce((sum, one) => sum + statSync(join(folder, one)).size, 0) };
  });
}
