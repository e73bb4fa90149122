/** What can be wrong on this machine. */
import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import type { CommandContext } from '../command.ts';
import { localDirectory, readLocalInstallation } from '../connection.ts';
import type { Check } from './doctor.ts';

const minNodeMajor = 24;
const defaultPort = 4_700;

export const checkNode = (version: string): Check =>
  Number(version.split('.')[0]) >= minNodeMajor
    ? { name: 'node', result: 'ok', message: version }
    : { name: 'node', result: 'fail', message: `${version} is too old: ${minNodeMajor} is needed` };

/** The embedded cloud's state holds keys and data: its owner's alone. */
export function checkLocalDirectory(context: Pick<CommandContext, 'env' | 'cwd'>): Check {
  const name = 'embedded cloud';
  const directory = localDirectory(context);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return { name, result: 'ok', message: `none in this folder (${directory})` };
  if (!found.isDirectory()) return { name, result: 'fail', message: `${directory} is in the way: it is no folder` };
  if ((found.mode & 0o077) !== 0)
    return { name, result: 'warn', message: `${directory} can be read by others: chmod 700 ${directory}` };
  const local = readLocalInstallation(context);
  if (local === undefined) return { name, result: 'ok', message: `${directory} is there; it does not run` };
  if (local.pid !== undefined && !isAlive(local.pid))
    return {
      name,
      result: 'warn',
      message: `${directory} says that it runs as process ${local.pid}, which is gone: npm start goes on`,
    };
  return { name, result: 'ok', message: `it runs at ${local.url}` };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Somebody else's process is one.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/** Where `npm start` would listen. */
export async function checkPort(context: Pick<CommandContext, 'env' | 'cwd'>): Promise<Check> {
  const name = 'port';
  const port = Number(context.env['STEPWELL_PORT'] || defaultPort);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    return { name, result: 'fail', message: `STEPWELL_PORT is '${context.env['STEPWELL_PORT']}', and no port` };
  const local = readLocalInstallation(context);
  if (local !== undefined && URL.canParse(local.url) && new URL(local.url).port === String(port))
    return { name, result: 'ok', message: `${port} is where the embedded cloud listens` };
  if (await isFree(port)) return { name, result: 'ok', message: `${port} is free` };
  return { name, result: 'warn', message: `${port} is taken: npm start takes the next one that is free` };
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
