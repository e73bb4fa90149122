/** `stepwell validate-ownership` and `stepwell check-config`. */
import { lookup } from 'node:dns/promises';
import * as z from 'zod';
import { diagnosticsPath } from '../../app-host/app-host.ts';
import { defaultTargetWorld, expectedWorldVariable, tokenVariable } from '../../app-host/environment.ts';
import {
  type Action,
  CliError,
  type CommandContext,
  type CommandLine,
  type Connection,
  exitCodes,
  type Outcome,
  pause,
  usageError,
} from '../command.ts';
import { type ConfigFile, readConfigFile } from '../config-file.ts';
import { messageOf } from '../describe-error.ts';
import { file, parseOptions } from '../parse-command-line.ts';
import { defined } from '../../base/defined.ts';
import { retryOutcome } from '../../base/retry.ts';
import { checkConfig as configChecks, isLoopback, isPlainHttp } from '../../ownership/check-config.ts';
import {
  checkActiveDeployment,
  checkApp,
  checkCallback,
  checkHealth,
  deploymentIn,
  type Probe,
} from '../../ownership/check-ownership.ts';
import { type Check, createCheck, formatCheck, worstResult } from '../../ownership/check.ts';
import { type Config, serviceUrlOf } from '../../ownership/config.ts';

const validateOwnershipOptions = z.object({
  appUrl: z.url({ protocol: /^https?$/, error: 'must be an address of http or https' }).optional(),
  strict: z.boolean().default(false),
  diagnosticsToken: z.string().min(1).optional(),
  config: file.optional(),
});

const defaultProbeLimits: ProbeLimits = { timeoutMs: 10_000, retries: 2 };
/** The service waits 20 seconds for the code, and the gateway answers after at most 29. */
const callbackLimits: ProbeLimits = { timeoutMs: 30_000, retries: 0 };

export const validateOwnership: Action = async (commandLine, context) => {
  const { appUrl, strict, diagnosticsToken, config: path } = parseOptions(commandLine, validateOwnershipOptions);
  if (strict && appUrl === undefined) throw usageError('--strict requires --app-url.');
  const config = path === undefined ? undefined : await readValidConfig(context, path);
  const probeLimits = config?.execution ?? defaultProbeLimits;
  const { url, apiKey } = await resolveService(commandLine, context, config);
  const health = checkHealth(await probeWithRetry(context, `${url}/v1/health`, undefined, probeLimits));
  const checks: Check[] = [health];
  const ask = (path: string, limits = probeLimits): Promise<Probe> => probeWithRetry(context, `${url}${path}`, apiKey, limits);
  // The key is sent only after the health check has identified the service.
  const isService = health.result === 'pass';
  const active = isService && apiKey !== undefined ? await ask('/v1/deployments/active') : undefined;
  if (isService) checks.push(checkActiveDeployment(active));
  if (appUrl !== undefined) {
    const base = appUrl.replace(/\/+$/, '');
    const token = diagnosticsToken ?? (context.env[tokenVariable] || undefined);
    if (isPlainHttp(base)) checks.push(createCheck('warn', 'app_https', `${base} is not https: the token is sent unencrypted`));
    const expected = config?.remoteWorldTarget ?? (context.env[expectedWorldVariable] || defaultTargetWorld);
    const readPage = (): Promise<Probe> => probeWithRetry(context, base + diagnosticsPath, token, probeLimits);
    const before = await readPage();
    checks.push(...checkApp(before, expected, strict));
    if (strict && isService) {
      const called = deploymentIn(active);
      const path = `/v1/deployments/${encodeURIComponent(called ?? '')}/health`;
      const answer = called === undefined ? undefined : await ask(path, callbackLimits);
      checks.push(checkCallback(answer, { before, after: await readPage() }));
    }
  }
  return checksOutcome(checks);
};

async function readValidConfig(context: CommandContext, path: string): Promise<Config> {
  const { read } = await readConfigFile(context.cwd, path);
  if (read.kind === 'valid') return read.config;
  const problems = read.errors.map(({ pointer, message }) => `  ${pointer} ${message}`);
  throw new CliError('config_invalid', `${path} is not valid:\n${problems.join('\n')}`, exitCodes.failed);
}

/** The command line precedes the file, and the file precedes all other sources. */
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

const checkConfigOptions = z.object({ config: file.optional() });
/** A host name that does not resolve within this time counts as unknown. */
const lookupTimeoutMs = 5_000;

export const checkConfig: Action = async (commandLine, context) => {
  const found = await readConfigFile(context.cwd, parseOptions(commandLine, checkConfigOptions).config);
  const isHostKnown = await canResolveHost(context, found, async (host) => void (await lookup(host)));
  return checksOutcome(configChecks(found.path, found.read, { env: context.env, isHostKnown }));
};

/** @param resolve throws if the name does not exist */
async function canResolveHost(
  { sleep, signal }: Pick<CommandContext, 'sleep' | 'signal'>,
  { read }: ConfigFile,
  resolve: (host: string) => Promise<void>,
): Promise<boolean | undefined> {
  const url = read.kind === 'valid' ? serviceUrlOf(read.config) : undefined;
  if (url === undefined || isLoopback(url)) return undefined;
  const timeoutController = new AbortController();
  const resolved = resolve(new URL(url).hostname).then(
    () => true,
    () => false,
  );
  const isKnown = await Promise.race([
    resolved,
    sleep(lookupTimeoutMs, AbortSignal.any([signal, timeoutController.signal])).then(() => false),
  ]);
  timeoutController.abort();
  return isKnown;
}

export interface ProbeLimits {
  readonly timeoutMs: number;
  readonly retries: number;
}

export const probeWithRetry = (
  context: Pick<CommandContext, 'fetch' | 'signal' | 'sleep'>,
  url: string,
  token: string | undefined,
  { timeoutMs, retries }: ProbeLimits,
): Promise<Probe> =>
  retryOutcome(
    () => probeOnce(context, url, token, timeoutMs),
    {
      attempts: retries + 1,
      backoff: { baseMs: 250 },
      isRetryable: (probe) => probe.kind === 'no_response' || probe.status === 429 || probe.status >= 500,
    },
    { sleep: (ms) => pause(context, ms) },
  );

async function probeOnce(
  context: Pick<CommandContext, 'fetch' | 'signal'>,
  url: string,
  token: string | undefined,
  timeoutMs: number,
): Promise<Probe> {
  try {
    const response = await context.fetch(url, {
      headers: defined({ Accept: 'application/json', Authorization: token === undefined ? undefined : `Bearer ${token}` }),
      redirect: 'manual',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]),
    });
    return { kind: 'answered', status: response.status, body: await response.json().catch(() => undefined) };
  } catch (error) {
    context.signal.throwIfAborted();
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { kind: 'no_response', reason: messageOf(reason) };
  }
}

const exitCodeByResult = { pass: exitCodes.ok, warn: exitCodes.warned, fail: exitCodes.failed } as const;

/** One line for each check, and the exit code of the worst result. */
export const checksOutcome = (checks: readonly Check[]): Outcome => ({
  data: { checks },
  text: checks.map(formatCheck).join('\n'),
  exitCode: exitCodeByResult[worstResult(checks)],
});
