/** `doctor --aws`: whether the account has what the installation's settings ask for, before a deployment and after it. */
import { defined } from '../../engine/defined.ts';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type Account, NotConfigured, Refused, readAccount } from '../../aws/account.ts';
import { deadLetterQueues, minConcurrency, smallAccount, defaultConcurrency } from '../../contract/concurrency.ts';
import { CliError, type CommandContext, exitCodes } from '../command.ts';
import { messageOf } from '../describe-error.ts';
import type { Check } from './doctor.ts';

const count = z.coerce.number();
const booleanSetting = z.union([z.boolean(), z.enum(['true', 'false'])]).transform((value) => value === true || value === 'true');

/** Those of the settings of docs/DEPLOY.md that an account may be too small for. */
const settingsShape = z.object({
  preset: z.enum(['small']).optional(),
  nodeConcurrency: count.optional(),
  resultConcurrency: count.optional(),
  codeConcurrency: count.optional(),
  codeRunsIn: z.string().optional(),
  watchedRuns: count.optional(),
  watchers: z.union([z.literal('uncapped'), count]).optional(),
  reservesWatchers: booleanSetting.optional(),
  requestsPerSecond: count.optional(),
  requestBurst: count.optional(),
  setsAccountLogRole: booleanSetting.optional(),
});
export type AccountSettings = z.output<typeof settingsShape>;

const contextShape = z.looseObject({ context: z.record(z.string(), z.unknown()).default({}) });
const prefix = 'stepwell:';

/** Those of the folder's cdk.json. What is given to `cdk` on the command line is not known here. */
function settingsIn(folder: string, preset: 'small' | undefined): AccountSettings {
  const file = join(folder, 'cdk.json');
  const context = existsSync(file) ? contextShape.parse(JSON.parse(readFileSync(file, 'utf8'))).context : {};
  const stepwellSettings = Object.entries(context).flatMap(([key, value]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
  );
  return settingsShape.parse({ ...Object.fromEntries(stepwellSettings), ...(preset === undefined ? {} : { preset }) });
}

export interface AccountOptions {
  readonly region?: string | undefined;
  readonly preset?: 'small' | undefined;
}

export async function checkAccount(context: CommandContext, { region, preset }: AccountOptions): Promise<readonly Check[]> {
  const settings = settingsIn(context.cwd, preset);
  try {
    const account = await readAccount(defined({ region, fetch: context.fetch, now: context.now }));
    return checkAccountQuotas(account, settings);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof NotConfigured)
      throw new CliError(
        'aws_not_configured',
        `No AWS credentials or no region: ${error.message}. Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and --region.`,
      );
    // What AWS refuses is about credentials and permissions, and the operator's to mend.
    const exitCode = error instanceof Refused ? exitCodes.failed : exitCodes.unreachable;
    throw new CliError('aws', `AWS could not be asked: ${messageOf(error)}`, exitCode);
  }
}

/** Of an account's concurrency, what reservations must leave to the functions that have none. An account with less can reserve none. */
const minUnreserved = 100;
/** Below this an installation with sleeping runs would notice; the usual quota is 10,000,000. */
const minSchedules = 10_000;

const quotaIncreaseHint =
  'ask for more: aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384';

/** Pure: what would fail in this account with these settings, and which setting to change. */
export function checkAccountQuotas(account: Account, settings: AccountSettings): readonly Check[] {
  const effectiveSettings = {
    ...defaultConcurrency,
    ...(settings.preset === 'small' ? smallAccount : {}),
    ...definedSettings(settings),
  };
  return [
    { name: 'region', result: 'ok', message: account.region },
    checkConcurrency(account, effectiveSettings),
    checkReservation(account, effectiveSettings),
    checkRequestRate(account, effectiveSettings),
    checkLogRole(account, effectiveSettings),
    checkSchedules(account),
  ];
}

type EffectiveSettings = AccountSettings & { readonly [Name in keyof typeof defaultConcurrency]: number | 'uncapped' };

const definedSettings = (settings: AccountSettings): Partial<EffectiveSettings> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));

/** What may run at once: the queues, and readers. Requests come on top. */
function checkConcurrency({ concurrency, unreserved }: Account, effectiveSettings: EffectiveSettings): Check {
  const name = 'concurrency';
  const { nodeConcurrency, resultConcurrency, codeConcurrency, watchedRuns, watchers } = effectiveSettings;
  const code = effectiveSettings.codeRunsIn === 'worker' ? 0 : Number(codeConcurrency);
  const mappings = [Number(nodeConcurrency), Number(nodeConcurrency), Number(resultConcurrency), code, Number(watchedRuns)];
  const queues = mappings.reduce((sum, concurrencyLimit) => sum + concurrencyLimit, deadLetterQueues * minConcurrency);
  const streams = watchers === 'uncapped' || effectiveSettings.reservesWatchers === true ? 0 : watchers;
  const requiredConcurrency = queues + streams;
  const availableText = `the account has ${concurrency} concurrent executions, ${unreserved} of them reserved for no function`;
  const requiredText = `queues may take ${queues} and streams ${watchers === 'uncapped' ? 'all of it' : streams}`;
  if (requiredConcurrency < unreserved && watchers !== 'uncapped')
    return { name, result: 'ok', message: `${availableText}; ${requiredText}` };
  const isAtMinimum =
    mappings.every((concurrencyLimit) => concurrencyLimit <= minConcurrency) &&
    watchers !== 'uncapped' &&
    streams <= minConcurrency;
  if (isAtMinimum)
    return {
      name,
      result: 'warn',
      message: `${availableText}; ${requiredText}, which is the least: a burst throttles requests; ${quotaIncreaseHint}`,
    };
  return {
    name,
    result: 'fail',
    message: `${availableText}; ${requiredText}: under load requests are throttled. Set preset to small, or lower nodeConcurrency, codeConcurrency, watchedRuns or watchers; or ${quotaIncreaseHint}`,
  };
}

function checkReservation({ concurrency, unreserved }: Account, { reservesWatchers, watchers }: EffectiveSettings): Check {
  const name = 'reservation';
  if (reservesWatchers !== true || watchers === 'uncapped')
    return { name, result: 'ok', message: 'the settings reserve nothing' };
  const minRemaining = Math.min(minUnreserved, concurrency);
  const change = 'set reservesWatchers to false, or lower watchers';
  if (concurrency - watchers < minRemaining)
    return {
      name,
      result: 'fail',
      message: `the deployment rolls back: of ${concurrency} concurrent executions ${minRemaining} must stay unreserved, and watchers reserves ${watchers}; ${change}`,
    };
  if (unreserved - watchers < minRemaining)
    return {
      name,
      result: 'warn',
      message: `${concurrency - unreserved} are reserved already. Unless those are this installation's, the deployment rolls back: ${minRemaining} must stay; ${change}`,
    };
  return { name, result: 'ok', message: `${watchers} can be reserved` };
}

function checkRequestRate({ requestRate, requestBurst }: Account, effectiveSettings: EffectiveSettings): Check {
  const name = 'api gateway';
  if (requestRate === undefined || requestBurst === undefined)
    return { name, result: 'warn', message: 'API Gateway does not say how many requests the account may have' };
  const exceeded = [
    ...(Number(effectiveSettings.requestsPerSecond) > requestRate
      ? [`requestsPerSecond (${effectiveSettings.requestsPerSecond})`]
      : []),
    ...(Number(effectiveSettings.requestBurst) > requestBurst ? [`requestBurst (${effectiveSettings.requestBurst})`] : []),
  ];
  const availableText = `all APIs of the account may have ${requestRate} requests a second and ${requestBurst} at once`;
  if (exceeded.length === 0) return { name, result: 'ok', message: availableText };
  return {
    name,
    result: 'warn',
    message: `${availableText}: the account throttles before ${exceeded.join(' and ')} does; lower it`,
  };
}

function checkLogRole({ hasLogRole }: Account, { setsAccountLogRole }: EffectiveSettings): Check {
  const name = 'log role';
  if (setsAccountLogRole !== false)
    return { name, result: 'ok', message: 'the deployment sets the role with which API Gateway writes logs' };
  if (hasLogRole) return { name, result: 'ok', message: 'API Gateway has a role with which it writes logs' };
  return {
    name,
    result: 'fail',
    message: 'the deployment fails: API Gateway has no role with which it writes logs; set setsAccountLogRole to true',
  };
}

function checkSchedules({ schedules }: Account): Check {
  const name = 'schedules';
  if (schedules === undefined)
    return { name, result: 'warn', message: 'Service Quotas does not say how many schedules there may be' };
  if (schedules >= minSchedules)
    return { name, result: 'ok', message: `${schedules} runs may sleep for more than 15 minutes at once` };
  return {
    name,
    result: 'warn',
    message: `only ${schedules} runs may sleep for more than 15 minutes at once: ask for more of EventBridge Scheduler, Number of schedules`,
  };
}
