/** Starts the embedded cloud as a process of its own: its functions and emulators need the whole process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type CommandContext, usageError } from '../command.ts';
import { defined } from '../../base/defined.ts';
import { localDirectory, projectFolder } from '../project-folder.ts';

/** The TypeScript source in a checkout, the JavaScript file in the package. */
const program = (): string => {
  const sourceUrl = new URL('../../local/main.ts', import.meta.url);
  return fileURLToPath(existsSync(sourceUrl) ? sourceUrl : new URL('../../local/main.js', import.meta.url));
};

export interface CloudOptions {
  /** the first port to try for the API; 0: any free one */
  readonly port?: number | undefined;
  readonly allowLocalhost: boolean;
}

/**
 * glibc keeps an arena of memory for up to eight threads of each core, and parts of threads that have ended stay in them. Two arenas
 * take 90 MB less after load (docs/decisions/idle-memory.md). The allocator reads this before the process starts.
 */
export const allocatorVariables = { MALLOC_ARENA_MAX: '2' } as const;

/** Environment variables of the cloud's process. Those of the caller win over the allocator's. */
export const cloudVariables = (
  context: Pick<CommandContext, 'cwd' | 'env'>,
  { port, allowLocalhost }: CloudOptions,
): Readonly<Record<string, string>> => {
  const { env } = context;
  return defined({
    ...allocatorVariables,
    ...env,
    STEPWELL_DIR: localDirectory(context),
    STEPWELL_PORT: port === undefined ? env['STEPWELL_PORT'] : String(port),
    STEPWELL_ALLOW_LOCALHOST: allowLocalhost ? 'true' : env['STEPWELL_ALLOW_LOCALHOST'],
  });
};

/** @param stdio where the cloud prints its address */
export function spawnCloud(
  context: Pick<CommandContext, 'cwd' | 'env'>,
  options: CloudOptions,
  stdio: 'inherit' | 'ignore',
): ChildProcess {
  return spawn(process.execPath, [program()], {
    // The cloud reads the settings in the project's cdk.json.
    cwd: projectFolder(context),
    env: cloudVariables(context, options),
    stdio: ['ignore', stdio, 'inherit'],
  });
}

/** The exit code of the process; 1 where a signal ended it. */
export const exitOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once('error', (error) => reject(usageError(`The embedded cloud cannot start: ${error.message}.`)));
    child.once('exit', (code) => resolve(code ?? 1));
  });
