/** Looks at this machine and the installation, and says for each thing whether it is well. */
import * as z from 'zod';
import { type Action, type Connection, type ExitCode, type Outcome, type Shell, exitCodes, usageFault } from '../command.ts';
import { optionsIn } from '../given.ts';
import { status } from '../words.ts';
import { checkAnswers, checkDeployment, checkHealth } from './doctor-service.ts';
import { checkFolder, checkNode, checkPort } from './doctor-machine.ts';
import { checkKey } from './doctor-key.ts';

export interface Check {
  readonly name: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
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

export const doctor: Action = async (given, shell) => {
  const { aws, ...options } = optionsIn(given, optionsShape);
  // The SDK of AWS takes long to load, and nothing else here needs it.
  if (aws) return outcomeOf(shell, await (await import('./doctor-account.ts')).checkAccount(shell, options));
  if (options.region !== undefined || options.preset !== undefined) throw usageFault('--region and --preset belong to --aws.');
  const checks: Check[] = [checkNode(process.versions.node), checkFolder(shell), await checkPort(shell)];
  const connection = await found(shell, checks);
  if (connection !== undefined) {
    const health = await checkHealth(shell, connection);
    checks.push(...health.checks);
    if (health.isThere) {
      const keyChecks = await checkKey(shell, connection);
      checks.push(...keyChecks, ...(await checkAnswers(shell, connection)));
      // A key that does not work would only be told once more.
      if (keyChecks.every(({ verdict }) => verdict !== 'fail')) checks.push(await checkDeployment(shell, connection));
    }
  }
  return outcomeOf(shell, checks);
};

function outcomeOf(shell: Shell, checks: readonly Check[]): Outcome {
  const lines = checks.map(({ name, verdict, message }) => `${status(shell, verdict).padEnd(7)} ${name}: ${message}`);
  return { data: { checks }, text: lines.join('\n'), exitCode: worst(checks) };
}

async function found(shell: Shell, checks: Check[]): Promise<Connection | undefined> {
  const name = 'connection';
  try {
    const connection = await shell.connection();
    const message = `${connection.url}, by ${connection.source}`;
    checks.push({ name, verdict: 'ok', message });
    for (const warning of connection.warnings) checks.push({ name, verdict: 'warn', message: warning });
    return connection;
  } catch (trouble) {
    checks.push({ name, verdict: 'fail', message: trouble instanceof Error ? trouble.message : String(trouble) });
    return undefined;
  }
}

const worst = (checks: readonly Check[]): ExitCode => {
  if (checks.some(({ verdict }) => verdict === 'fail')) return exitCodes.failed;
  return checks.some(({ verdict }) => verdict === 'warn') ? exitCodes.warned : exitCodes.ok;
};
