/** Looks at this machine and the installation, and says for each thing whether it is well. */
import * as z from 'zod';
import {
  type Action,
  type Connection,
  type ExitCode,
  type Outcome,
  type CommandContext,
  exitCodes,
  usageError,
} from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { formatStatus } from '../format.ts';
import { checkRoutes, checkDeployment, checkHealth } from './doctor-service.ts';
import { checkLocalDirectory, checkNode, checkPort } from './doctor-machine.ts';
import { checkKey } from './doctor-key.ts';

export interface Check {
  readonly name: string;
  readonly result: 'ok' | 'warn' | 'fail';
  readonly message: string;
}

const optionsShape = z.object({
  aws: z.boolean().default(false),
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be a region, such as eu-west-1')
    .optional(),
  preset: z.enum(['small']).optional(),
});

export const doctor: Action = async (commandLine, context) => {
  const { aws, ...options } = parseOptions(commandLine, optionsShape);
  // The SDK of AWS takes long to load, and nothing else here needs it.
  if (aws) return outcomeOf(context, await (await import('./doctor-account.ts')).checkAccount(context, options));
  if (options.region !== undefined || options.preset !== undefined) throw usageError('--region and --preset belong to --aws.');
  const checks: Check[] = [checkNode(process.versions.node), checkLocalDirectory(context), await checkPort(context)];
  const connection = await findConnection(context, checks);
  if (connection !== undefined) {
    const health = await checkHealth(context, connection);
    checks.push(...health.checks);
    if (health.isReachable) {
      const keyChecks = await checkKey(context, connection);
      checks.push(...keyChecks, ...(await checkRoutes(context, connection)));
      // A key that does not work would only be told once more.
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
    const message = `${connection.url}, by ${connection.source}`;
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
