/** `stepwell doctor --aws`: compares the quotas of the AWS account with the settings of the installation. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type Account, NotConfigured, readAccount, Refused } from '../../aws/account.ts';
import type { Check } from './doctor.ts';
import { CliError, type CommandContext, exitCodes } from '../command.ts';
import { messageOf } from '../describe-error.ts';
import { deadLetterQueues, defaultConcurrency, minConcurrency, smallAccount } from '../../contract/concurrency.ts';
import { defined } from '../../base/defined.ts';

const count = z.coerce.number();
const booleanSetting = z.union([z.boolean(), z.enum(['true', 'false'])]).transform((value) => value === true || value === 'true');

/** The settings of docs/DEPLOY.md that can exceed the quotas of an account. */
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

/** Reads the settings in cdk.json. Settings on the command line of `cdk` are unknown here. */
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
    // A refusal concerns credentials or permissions, which the operator must fix.
    const exitCode = error instanceof Refused ? exitCodes.failed : exitCodes.unreachable;
    throw new CliError('aws', `The AWS account could not be read: ${messageOf(error)}`, exitCode);
  }
}

/** Lambda requires that reservations leave 100 concurrent executions unreserved. */
const minUnreserved = 100;
/** Fewer schedules can limit sleeping runs; the default quota is 10,000,000. */
const minSchedules = 10_000;

const quotaIncreaseHint =
  'request an increase: aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384';

/** Pure: reports what fails in this account with these settings, and which setting to change. */
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

/** Adds the concurrency of the queues and of the event streams. API requests need more. */
function checkConcurrency({ concurrency, unreserved }: Account, effectiveSettings: EffectiveSettings): Check {
  const name = 'concurrency';
  const { nodeConcurrency, resultConcurrency, codeConcurrency, watchedRuns, watchers } = effectiveSettings;
  const code = effectiveSettings.codeRunsIn === 'worker' ? 0 : Number(codeConcurrency);
  const mappings = [Number(nodeConcurrency), Number(nodeConcurrency), Number(resultConcurrency), code, Number(watchedRuns)];
  const queues = mappings.reduce((sum, concurrencyLimit) => sum + concurrencyLimit, deadLetterQueues * minConcurrency);
  const streams = watchers === 'uncapped' || effectiveSettings.reservesWatchers === true ? 0 : watchers;
  const requiredConcurrency = queues + streams;
  const availableText = `the account has ${concurrency} concurrent executions, ${unreserved} of them unreserved`;
  const requiredText = `queues can use ${queues} and streams ${watchers === 'uncapped' ? 'all' : streams}`;
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
      message: `${availableText}; ${requiredText}, the minimum: a burst throttles requests; ${quotaIncreaseHint}`,
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
    return { name, result: 'ok', message: 'the settings reserve no concurrency' };
  const minRemaining = Math.min(minUnreserved, concurrency);
  const change = 'set reservesWatchers to false, or lower watchers';
  if (concurrency - watchers < minRemaining)
    return {
      name,
      result: 'fail',
      message: `the deployment rolls back: of ${concurrency} concurrent executions ${minRemaining} must stay unreserved, but watchers reserves ${watchers}; ${change}`,
    };
  if (unreserved - watchers < minRemaining)
    return {
      name,
      result: 'warn',
      message: `${concurrency - unreserved} are reserved already. Unless they belong to this installation, the deployment rolls back: ${minRemaining} must stay unreserved; ${change}`,
    };
  return { name, result: 'ok', message: `${watchers} can be reserved` };
}

function checkRequestRate({ requestRate, requestBurst }: Account, effectiveSettings: EffectiveSettings): Check {
  const name = 'api gateway';
  if (requestRate === undefined || requestBurst === undefined)
    return { name, result: 'warn', message: 'API Gateway did not return the throttle limits of the account' };
  const exceeded = [
    ...(Number(effectiveSettings.requestsPerSecond) > requestRate
      ? [`requestsPerSecond (${effectiveSettings.requestsPerSecond})`]
      : []),
    ...(Number(effectiveSettings.requestBurst) > requestBurst ? [`requestBurst (${effectiveSettings.requestBurst})`] : []),
  ];
  const availableText = `the account allows ${requestRate} requests a second over all APIs, with bursts of ${requestBurst}`;
  if (exceeded.length === 0) return { name, result: 'ok', message: availableText };
  return {
    name,
    result: 'warn',
    message: `${availableText}: the account throttles before ${exceeded.join(' and ')} does; lower the setting`,
  };
}

function checkLogRole({ hasLogRole }: Account, { setsAccountLogRole }: EffectiveSettings): Check {
  const name = 'log role';
  if (setsAccountLogRole !== false) return { name, result: 'ok', message: 'the deployment sets the log role of API Gateway' };
  if (hasLogRole) return { name, result: 'ok', message: 'API Gateway has a log role' };
  return {
    name,
    result: 'fail',
    message: 'the deployment fails: API Gateway has no log role; set setsAccountLogRole to true',
  };
}

function checkSchedules({ schedules }: Account): Check {
  const name = 'schedules';
  if (schedules === undefined) return { name, result: 'warn', message: 'Service Quotas did not return the quota of schedules' };
  if (schedules >= minSchedules)
    return { name, result: 'ok', message: `${schedules} runs can sleep for more than 15 minutes at once` };
  return {
    name,
    result: 'warn',
    message: `only ${schedules} runs can sleep for more than 15 minutes at once: request an increase of EventBridge Scheduler, Number of schedules`,
  };
}
