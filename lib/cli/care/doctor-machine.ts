/** What can be wrong on this machine. */
import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Shell } from '../command.ts';
import { localFolder, readLocal } from '../connection.ts';
import type { Check } from './doctor.ts';

const oldestMajor = 24;
const firstPort = 4_700;

export const checkNode = (version: string): Check =>
  Number(version.split('.')[0]) >= oldestMajor
    ? { name: 'node', verdict: 'ok', message: version }
    : { name: 'node', verdict: 'fail', message: `${version} is too old: ${oldestMajor} is needed` };

/** The embedded cloud's state holds keys and data: its owner's alone. */
export function checkFolder(shell: Pick<Shell, 'env' | 'cwd'>): Check {
  const name = 'embedded cloud';
  const folder = localFolder(shell);
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return { name, verdict: 'ok', message: `none in this folder (${folder})` };
  if (!found.isDirectory()) return { name, verdict: 'fail', message: `${folder} is in the way: it is no folder` };
  if ((found.mode & 0o077) !== 0)
    return { name, verdict: 'warn', message: `${folder} can be read by others: chmod 700 ${folder}` };
  const local = readLocal(shell);
  if (local === undefined) return { name, verdict: 'ok', message: `${folder} is there; it does not run` };
  if (local.pid !== undefined && !isAlive(local.pid))
    return {
      name,
      verdict: 'warn',
      message: `${folder} says that it runs as process ${local.pid}, which is gone: npm start goes on`,
    };
  return { name, verdict: 'ok', message: `it runs at ${local.url}` };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (trouble) {
    // Somebody else's process is one.
    return trouble instanceof Error && 'code' in trouble && trouble.code === 'EPERM';
  }
};

/** Where `npm start` would listen. */
export async function checkPort(shell: Pick<Shell, 'env' | 'cwd'>): Promise<Check> {
  const name = 'port';
  const port = Number(shell.env['STEPWELL_PORT'] || firstPort);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    return { name, verdict: 'fail', message: `STEPWELL_PORT is '${shell.env['STEPWELL_PORT']}', and no port` };
  const local = readLocal(shell);
  if (local !== undefined && URL.canParse(local.url) && new URL(local.url).port === String(port))
    return { name, verdict: 'ok', message: `${port} is where the embedded cloud listens` };
  if (await isFree(port)) return { name, verdict: 'ok', message: `${port} is free` };
  return { name, verdict: 'warn', message: `${port} is taken: npm start takes the next one that is free` };
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
