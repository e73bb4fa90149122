/** The published packages as npm would deliver them: built, packed, and installed by npm in an empty folder outside of the repository. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const packageNames = ['stepwell', 'stepwell-cli', 'stepwell-cdk'] as const;
type PackageName = (typeof packageNames)[number];

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Packed {
  /** the folder of everything, in the temporary folder of the run */
  readonly folder: string;
  /** the built package */
  readonly built: (name: PackageName) => string;
  /** the packed archive */
  readonly archive: (name: PackageName) => string;
}

/** The paths of the archives, or why there are none. */
const packedShape = z.object({
  archives: z.record(z.string(), z.string()).exactOptional(),
  failure: z.string().exactOptional(),
});

/** npm without audits and advertisements; its cache is the machine's own, and what is in it is not asked for again. */
const npmEnvironment = {
  ...process.env,
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
};

/** The files of a run that use the packages share them: the first one builds and packs, and the others wait. */
export async function packAll(): Promise<Packed> {
  const folder = join(tmpdir(), 'stepwell-packed');
  const resultFile = join(tmpdir(), 'stepwell-packed.json');
  if (mkdirSync(folder, { recursive: true }) === undefined) while (!existsSync(resultFile)) await wait(100);
  else {
    const result = await buildAndPack(folder).catch((error: unknown) => ({ failure: String(error) }));
    writeFileSync(`${resultFile}.new`, JSON.stringify(result));
    renameSync(`${resultFile}.new`, resultFile);
  }
  const { failure, archives } = packedShape.parse(readJson(resultFile));
  if (archives === undefined) throw new Error(`the packages could not be packed: ${failure}`);
  return { folder, built: (name) => join(folder, name), archive: (name) => archives[name] ?? '' };
}

async function buildAndPack(folder: string): Promise<z.input<typeof packedShape>> {
  const run = promisify(execFile);
  await run('npm', ['run', '--silent', 'build', '--', folder], { cwd: root, env: npmEnvironment });
  const packing = packageNames.map(async (name) => {
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], {
      cwd: join(folder, name),
      env: npmEnvironment,
    });
    return [name, join(folder, stdout.trim())] as const;
  });
  return { archives: Object.fromEntries(await Promise.all(packing)) };
}

/** The `bin` folders of this repository must not provide programs to a project that is outside of it. */
const foreignPath = (): string =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((part) => !part.includes('node_modules'))
    .join(delimiter);

export interface Application {
  readonly folder: string;
  /** The environment of its programs. `nodeFolder` comes first in the PATH; default: the folder of this Node. */
  readonly env: (nodeFolder?: string) => Readonly<Record<string, string | undefined>>;
  /** Runs a program in the folder. `nodeFolder` comes first in the PATH; default: the folder of this Node. */
  readonly run: (
    program: string,
    args: readonly string[],
    options?: { readonly nodeFolder?: string; readonly env?: Readonly<Record<string, string>> },
  ) => Promise<Printed>;
}

/** An empty folder in which `npm init -y` has run. */
export async function createApplication(parent: string, name: string): Promise<Application> {
  const folder = join(parent, name);
  mkdirSync(folder);
  const env = (nodeFolder = dirname(process.execPath)) => ({
    ...npmEnvironment,
    PATH: [nodeFolder, foreignPath()].join(delimiter),
    HOME: parent,
  });
  const application: Application = {
    folder,
    env,
    run: async (program, args, { nodeFolder, env: more = {} } = {}) =>
      promisify(execFile)(program, args, {
        cwd: folder,
        env: { ...env(nodeFolder), ...more },
        maxBuffer: 16 * 1024 * 1024,
      }),
  };
  await application.run('npm', ['init', '-y']);
  return application;
}

export const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
