/** The program that works: in a checkout as it was written, in the package the bundle that came with it. */
import { existsSync } from 'node:fs';
import * as z from 'zod';
import type { RunWorker } from '../../contract/worker-program.ts';

const bundle = new URL('../../worker/index.mjs', import.meta.url);
const source = new URL('../../../functions/code/process.ts', import.meta.url);

const shape = z.object({ runWorker: z.custom<RunWorker>((value) => typeof value === 'function') });

/** It stands alone, with what it needs of AWS and of the engine: nobody else on this command line loads that. */
export async function loadWorker(): Promise<RunWorker> {
  const { href } = existsSync(bundle) ? bundle : source;
  const loaded: unknown = await import(href);
  return shape.parse(loaded).runWorker;
}
