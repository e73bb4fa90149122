/**
 * Apps of the Workflow DevKit, built with the SDK's own tool. A run of the tests installs each version once and builds each app once: an
 * installation takes 16 seconds of a core, and a build seven. Tests share the folders, so they write nothing into them.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pinnedVersion } from '../../bench/devkit/measured-app.ts';
import { root } from '../e2e/local-start.ts';

export const sdkVersions = ['4.8.9', pinnedVersion, '5.0.0-beta.55'] as const;

export interface BuiltApp {
  readonly folder: string;
  readonly version: string;
  /** Runs a program in the app's folder. @returns what it printed */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
}

/** Texts by their paths in the folder of the app. */
export type AppFiles = Readonly<Record<string, string>>;

/** Of this run of the tests, and deleted with everything else that it wrote. */
const shared = (): string => join(tmpdir(), 'stepwell-devkit-apps');

/** @throws if the version cannot be installed, or the app cannot be built */
export async function builtApp(version: string, files: AppFiles): Promise<BuiltApp> {
  const installed = await installedSdk(version);
  // Below the installation, where the app finds its packages as a member of a workspace does.
  const folder = await madeOnce(join(installed, 'apps', nameOf([version, files])), async (making) => {
    writeFiles(making, {
      'package.json': JSON.stringify({ name: 'shop', private: true, type: 'module' }),
      ...files,
    });
    await runIn(making)('node', [join(installed, 'node_modules', 'workflow', 'bin', 'run.js'), 'build']);
  });
  return { folder, version, run: runIn(folder) };
}

/** @returns the folder whose `node_modules` has the packages `workflow` and `stepwell` */
export const installedSdk = (version: string): Promise<string> =>
  madeOnce(join(shared(), version), async (making) => {
    writeFiles(making, { 'package.json': JSON.stringify({ name: 'apps', private: true }) });
    const modules = join(making, 'node_modules');
    if (version === pinnedVersion) {
      mkdirSync(modules);
      symlinkSync(join(root, 'node_modules', 'workflow'), join(modules, 'workflow'));
    } else await runIn(making)('npm', ['install', '--save-exact', `workflow@${version}`]);
    // The package's own source stands for its build, which another test installs.
    writeFiles(modules, {
      'stepwell/package.json': JSON.stringify({ name: 'stepwell', exports: { './world': './lib/world/index.ts' } }),
    });
    symlinkSync(join(root, 'lib'), join(modules, 'stepwell', 'lib'));
  });

/**
 * Makes a folder at a temporary name, and renames it when it is complete. The first caller makes it, and the others wait, in whichever
 * process they are.
 */
export async function madeOnce(folder: string, make: (making: string) => Promise<void>): Promise<string> {
  const [making, claim, failure] = [`${folder}.making`, `${folder}.claim`, `${folder}.failure`];
  mkdirSync(dirname(folder), { recursive: true });
  if (mkdirSync(claim, { recursive: true }) === undefined) {
    while (!existsSync(folder)) {
      if (existsSync(failure)) throw new Error(readFileSync(failure, 'utf8'));
      await wait(50);
    }
    return folder;
  }
  try {
    mkdirSync(making);
    await make(making);
    renameSync(making, folder);
    return folder;
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    writeFileSync(`${failure}.new`, String(error));
    renameSync(`${failure}.new`, failure);
    throw error;
  }
}

function writeFiles(folder: string, files: AppFiles): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const nameOf = (content: unknown): string => createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);

const runIn =
  (folder: string): BuiltApp['run'] =>
  async (program, args, env = {}) => {
    const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
    const npm = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' };
    const options = { cwd: folder, env: { ...process.env, PATH: path, ...npm, ...env }, maxBuffer: 16_777_216 };
    return (await promisify(execFile)(program, args, options)).stdout;
  };
