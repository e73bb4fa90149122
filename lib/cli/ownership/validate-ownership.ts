import * as z from 'zod';
import { diagnosticsPath } from '../../app-host/app-host.ts';
import { defaultTargetWorld, expectedWorldVariable, tokenVariable } from '../../app-host/environment.ts';
import { type Check, checked } from '../../ownership/check.ts';
import { type Config, serviceUrlOf } from '../../ownership/config.ts';
import { isBare } from '../../ownership/judge-config.ts';
import { judgeActive, judgeApp, judgeHealth } from '../../ownership/judge-ownership.ts';
import { type Action, CliFault, type Connection, type Given, type Shell, exitCodes, usageFault } from '../command.ts';
import { file, optionsIn } from '../given.ts';
import { configIn } from './config-file.ts';
import { outcomeOf } from './outcome.ts';
import { type Patience, probed } from './probe.ts';

const shape = z.object({
  appUrl: z.url({ protocol: /^https?$/, error: 'must be an address of http or https' }).optional(),
  strict: z.boolean().default(false),
  diagnosticsToken: z.string().min(1).optional(),
  config: file.optional(),
});

const usual: Patience = { timeoutMs: 10_000, retries: 2 };

export const validateOwnership: Action = async (given, shell) => {
  const { appUrl, strict, diagnosticsToken, config: path } = optionsIn(given, shape);
  if (strict && appUrl === undefined) throw usageFault('--strict asks the application: say with --app-url where it is.');
  const config = path === undefined ? undefined : await configOf(shell, path);
  const patience = config?.execution ?? usual;
  const { url, apiKey } = await serviceOf(given, shell, config);
  const health = judgeHealth(await probed(shell, `${url}/v1/health`, undefined, patience));
  const checks: Check[] = [health];
  // The key is not shown to whoever answers there, as long as that is not the service.
  if (health.verdict === 'pass') {
    const path = `${url}/v1/deployments/active`;
    checks.push(judgeActive(apiKey === undefined ? undefined : await probed(shell, path, apiKey, patience)));
  }
  if (appUrl !== undefined) {
    const base = appUrl.replace(/\/+$/, '');
    const token = diagnosticsToken ?? (shell.env[tokenVariable] || undefined);
    if (isBare(base)) checks.push(checked('warn', 'app_https', `${base} is not https: the token can be read on its way`));
    const expected = config?.remoteWorldTarget ?? (shell.env[expectedWorldVariable] || defaultTargetWorld);
    checks.push(...judgeApp(await probed(shell, base + diagnosticsPath, token, patience), expected, strict));
  }
  return outcomeOf(checks);
};

async function configOf(shell: Shell, path: string): Promise<Config> {
  const { read } = await configIn(shell.cwd, path);
  if (read.kind === 'valid') return read.config;
  const faults = read.faults.map(({ place, message }) => `  ${place} ${message}`);
  throw new CliFault('config_invalid', `${path} is not valid:\n${faults.join('\n')}`, exitCodes.failed);
}

/** What the command line says goes before the file, and the file before everything else. */
async function serviceOf(
  { options }: Given,
  shell: Shell,
  config: Config | undefined,
): Promise<Pick<Connection, 'url' | 'apiKey'>> {
  const url = config === undefined ? undefined : serviceUrlOf(config);
  if (config === undefined || url === undefined || options['url'] !== undefined || options['profile'] !== undefined)
    return shell.connection();
  return { url: url.replace(/\/+$/, ''), apiKey: shell.env[config.execution.apiKeyEnv]?.trim() || undefined };
}
