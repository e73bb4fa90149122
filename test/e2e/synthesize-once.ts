/** Bundles and synthesizes the product once for all tests that run it. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { checkoutApp } from '../../lib/local/synth/cdk-app.ts';
import { synthesize } from '../../lib/local/synth/synthesize.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

declare module 'vitest' {
  interface ProvidedContext {
    /** a state folder with a synthesis, and with the compile cache of its users */
    readonly synthesis: string;
  }
}

export default async function synthesizeOnce(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-synthesis-'));
  mkdirSync(join(folder, 'cache'));
  await synthesize(checkoutApp(root), folder);
  project.provide('synthesis', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
