/** The spec version of the runs: the one of the SDK that is installed in the application's folder. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { WorldError } from './errors.ts';
import { type Environment, readVariable, variables } from './settings.ts';

/** The SDK's runtime checks the version against its own copy of `@workflow/world`, so the copies nearest to it come first. */
const paths = [
  ['workflow', '@workflow/core', '@workflow/world'],
  ['@workflow/core', '@workflow/world'],
  ['@workflow/world'],
] as const;

/** @param folder of the application @throws WorldError if no version is declared or found */
export function findSpecVersion(folder: string, env: Environment): number {
  const declared = readVariable(env, 'specVersion');
  if (declared !== undefined) {
    if (/^[1-9]\d?$/.test(declared)) return Number(declared);
    throw specVersionError(`The environment variable ${variables.specVersion} is not a whole number from 1 to 99`);
  }
  for (const path of paths) {
    const world = findPackage(folder, path);
    if (world !== undefined) return versionIn(world);
  }
  throw specVersionError(
    `The package @workflow/world is not installed in ${folder}: install the package workflow there, ` +
      `or set ${variables.specVersion} to the spec version of your SDK (3 for version 4)`,
  );
}

/** The folder of the last package, found from each package's own folder as Node does it. */
export function findPackage(folder: string, names: readonly string[]): string | undefined {
  let found: string | undefined = folder;
  for (const name of names) found = found === undefined ? undefined : findAbove(found, name);
  return found;
}

function findAbove(folder: string, name: string): string | undefined {
  for (let above = folder; ; above = dirname(above)) {
    const candidate = join(above, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate);
    if (above === dirname(above)) return undefined;
  }
}

const moduleShape = z.object({
  SPEC_VERSION_CURRENT: z.int().min(1),
  mintedSpecVersion: z.custom<() => unknown>((value) => typeof value === 'function').optional(),
});
const packageShape = z.object({ version: z.string() });

function versionIn(folder: string): number {
  const exported = moduleShape.safeParse(importFile(join(folder, 'dist', 'spec-version.js'))).data;
  const minted = z.int().min(1).safeParse(exported?.mintedSpecVersion?.()).data;
  return minted ?? exported?.SPEC_VERSION_CURRENT ?? versionByRelease(folder);
}

/** Node 20 before 20.19 cannot import an ES module without waiting. */
function importFile(path: string): unknown {
  try {
    return createRequire(path)(path);
  } catch {
    return undefined;
  }
}

/** Every release of version 4 has 3. For the betas of version 5 see their `spec-version.ts`. */
function versionByRelease(folder: string): number {
  const { version } = packageShape.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  if (version.startsWith('4.')) return 3;
  throw specVersionError(
    `The spec version of @workflow/world ${version} in ${folder} cannot be read on Node ${process.versions.node}: ` +
      `use Node 22.12 or newer, or set ${variables.specVersion}`,
  );
}

const specVersionError = (message: string): WorldError =>
  new WorldError('WorkflowWorldError', message, { status: 400, code: 'SPEC_VERSION' });
