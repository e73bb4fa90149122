/** How large what is deployed is: a cold start reads and compiles the handler's bundle. */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildFunctions } from '../scripts/build-functions.ts';

export interface BundleSize {
  readonly name: string;
  /** the handler, minified */
  readonly handlerBytes: number;
  /** and what lies beside it in the asset */
  readonly assetBytes: number;
}

/** The API's handler may have this much (1 MB). */
export const mostApiBytes = 1_048_576;

export async function measureBundles(outdir: string): Promise<readonly BundleSize[]> {
  const bundles = await buildFunctions({ outdir });
  return bundles.map(({ name, file, bytes }) => {
    const folder = dirname(file);
    const deployed = readdirSync(folder).filter((one) => !one.endsWith('.map'));
    return { name, handlerBytes: bytes, assetBytes: deployed.reduce((sum, one) => sum + statSync(join(folder, one)).size, 0) };
  });
}
