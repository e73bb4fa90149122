import * as z from 'zod';
import { diagnosticsPath } from '../../app-host/app-host.ts';
import { defaultTargetWorld, expectedWorldVariable, tokenVariable } from '../../app-host/environment.ts';
import { type Check, createCheck } from '../../ownership/check.ts';
import { type Config, serviceUrlOf } from '../../ownership/config.ts';
import { isPlainHttp } from '../../ownership/check-config.ts';
import { checkActiveDeployment, checkApp, checkHealth } from '../../ownership/check-ownership.ts';
import {
  type Action,
  CliError,
  type Connection,
  type CommandLine,
  type CommandContext,
  exitCodes,
  usageError,
} from '../command.ts';
import { file, parseOptions } from '../parse-command-line.ts';
import { readConfigFile } from './config-file.ts';
import { checksOutcome } from './checks-outcome.ts';
import { type RetryPolicy, probeWithRetry } from './probe.ts';

const shape = z.object({
  appUrl: z.url({ protocol: /^https?$/, error: 'must be an address of http or https' }).optional(),
  strict: z.boolean().default(false),
  diagnosticsToken: z.string().min(1).optional(),
  config: file.optional(),
});

const defaultRetryPolicy: RetryPolicy = { timeoutMs: 10_000, retries: 2 };

export const validateOwnership: Action = async (commandLine, context) => {
  const { appUrl, strict, diagnosticsToken, config: path } = parseOptions(commandLine, shape);
  if (strict && appUrl === undefined) throw usageError('--strict asks the application: say with --app-url where it is.');
  const config = path === undefined ? undefined : await readValidConfig(context, path);
  const retryPolicy = config?.execution ?? defaultRetryPolicy;
  const { url, apiKey } = await resolveService(commandLine, context, config);
  const health = checkHealth(await probeWithRetry(context, `${url}/v1/health`, undefined, retryPolicy));
  const checks: Check[] = [health];
  // The key is not shown to whoever answers there, as long as that is not the service.
  if (health.result === 'pass') {
    const path = `${url}/v1/deployments/active`;
    checks.push(
      checkActiveDeployment(apiKey === undefined ? undefined : await probeWithRetry(context, path, apiKey, retryPolicy)),
    );
  }
  if (appUrl !== undefined) {
    const base = appUrl.replace(/\/+$/, '');
    const token = diagnosticsToken ?? (context.env[tokenVariable] || undefined);
    if (isPlainHttp(base))
      checks.push(createCheck('warn', 'app_https', `${base} is not https: the token can be read on its way`));
    const expected = config?.remoteWorldTarget ?? (context.env[expectedWorldVariable] || defaultTargetWorld);
    checks.push(...checkApp(await probeWithRetry(context, base + diagnosticsPath, token, retryPolicy), expected, strict));
  }
  return checksOutcome(checks);
};

async function readValidConfig(context: CommandContext, path: string): Promise<Config> {
  const { read } = await readConfigFile(context.cwd, path);
  if (read.kind === 'valid') return read.config;
  const problems = read.errors.map(({ pointer, message }) => `  ${pointer} ${message}`);
  throw new CliError('config_invalid', `${path} is not valid:\n${problems.join('\n')}`, exitCodes.failed);
}

/** What the command line says goes before the file, and the file before everything else. */
async function resolveService(
  { options }: CommandLine,
  context: CommandContext,
  config: Config | undefined,
): Promise<Pick<Connection, 'url' | 'apiKey'>> {
  const url = config === undefined ? undefined : serviceUrlOf(config);
  if (config === undefined || url === undefined || options['url'] !== undefined || options['profile'] !== undefined)
    return context.connection();
  return { url: url.replace(/\/+$/, ''), apiKey: context.env[config.execution.apiKeyEnv]?.trim() || undefined };
}
