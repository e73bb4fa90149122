/** `stepwell doctor`: checks this machine and the installation. */
import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import * as z from 'zod';
import { checkDeployment, checkHealth, checkKey, checkRoutes } from './doctor-service.ts';
import {
  type Action,
  type CommandContext,
  type Connection,
  type ExitCode,
  exitCodes,
  type Outcome,
  usageError,
} from '../command.ts';
import { readLocalInstallation } from '../connection.ts';
import { localDirectory } from '../project-folder.ts';
import { formatStatus } from '../format.ts';
import { parseOptions } from '../parse-command-line.ts';

export interface Check {
  readonly name: string;
  readonly result: 'ok' | 'warn' | 'fail';
  readonly message: string;
}

const doctorOptions = z.object({
  aws: z.boolean().default(false),
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be a region, such as eu-west-1')
    .optional(),
  preset: z.enum(['small']).optional(),
});

export const doctor: Action = async (commandLine, context) => {
  const { aws, ...options } = parseOptions(commandLine, doctorOptions);
  // The AWS SDK loads slowly, and no other check needs it.
  if (aws) return outcomeOf(context, await (await import('./doctor-account.ts')).checkAccount(context, options));
  if (options.region !== undefined || options.preset !== undefined) throw usageError('--region and --preset require --aws.');
  const checks: Check[] = [checkNode(process.versions.node), checkLocalDirectory(context), await checkPort(context)];
  const connection = await findConnection(context, checks);
  if (connection !== undefined) {
    const health = await checkHealth(context, connection);
    checks.push(...health.checks);
    if (health.isReachable) {
      const keyChecks = await checkKey(context, connection);
      checks.push(...keyChecks, ...(await checkRoutes(context, connection)));
      // An invalid key would only fail again.
      if (keyChecks.every(({ result }) => result !== 'fail')) checks.push(await checkDeployment(context, connection));
    }
  }
  return outcomeOf(context, checks);
};

function outcomeOf(context: CommandContext, checks: readonly Check[]): Outcome {
  const lines = checks.map(({ name, result, message }) => `${formatStatus(context, result).padEnd(7)} ${name}: ${message}`);
  return { data: { checks }, text: lines.join('\n'), exitCode: exitCodeOf(checks) };
}

async function findConnection(context: CommandContext, checks: Check[]): Promise<Connection | undefined> {
  const name = 'connection';
  try {
    const connection = await context.connection();
    const message = `${connection.url}, from ${connection.source}`;
    checks.push({ name, result: 'ok', message });
    for (const warning of connection.warnings) checks.push({ name, result: 'warn', message: warning });
    return connection;
  } catch (error) {
    checks.push({ name, result: 'fail', message: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

const exitCodeOf = (checks: readonly Check[]): ExitCode => {
  if (checks.some(({ result }) => result === 'fail')) return exitCodes.failed;
  return checks.some(({ result }) => result === 'warn') ? exitCodes.warned : exitCodes.ok;
};

const minNodeMajor = 24;
const defaultPort = 4_700;

export const checkNode = (version: string): Check =>
  Number(version.split('.')[0]) >= minNodeMajor
    ? { name: 'node', result: 'ok', message: version }
    : { name: 'node', result: 'fail', message: `${version} is too old: install Node ${minNodeMajor} or later` };

/** The state directory of the embedded cloud contains keys and data, so only its owner may read it. */
export function checkLocalDirectory(context: Pick<CommandContext, 'env' | 'cwd'>): Check {
  const name = 'embedded cloud';
  const directory = localDirectory(context);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return { name, result: 'ok', message: `none in this folder (${directory})` };
  if (!found.isDirectory()) return { name, result: 'fail', message: `${directory} is not a folder: remove or rename it` };
  if ((found.mode & 0o077) !== 0)
    return { name, result: 'warn', message: `other users can read ${directory}: chmod 700 ${directory}` };
  const local = readLocalInstallation(context);
  if (local === undefined) return { name, result: 'ok', message: `${directory} exists; it is not running` };
  if (local.pid !== undefined && !isAlive(local.pid))
    return {
      name,
      result: 'warn',
      message: `${directory} names process ${local.pid}, which does not exist: run npx stepwell start to continue`,
    };
  return { name, result: 'ok', message: `running at ${local.url}` };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user exists too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/** Checks the port that the embedded cloud tries first. */
export async function checkPort(context: Pick<CommandContext, 'env' | 'cwd'>): Promise<Check> {
  const name = 'port';
  const port = Number(context.env['STEPWELL_PORT'] || defaultPort);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    return { name, result: 'fail', message: `STEPWELL_PORT is '${context.env['STEPWELL_PORT']}', which is not a port number` };
  const local = readLocalInstallation(context);
  if (local !== undefined && URL.canParse(local.url) && new URL(local.url).port === String(port))
    return { name, result: 'ok', message: `the embedded cloud listens on ${port}` };
  if (await isFree(port)) return { name, result: 'ok', message: `${port} is free` };
  return { name, result: 'warn', message: `${port} is in use: the embedded cloud uses the next free port` };
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
