/** `doctor --aws`: whether the account has what the installation's settings ask for, before a deployment and after it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type Account, NotConfigured, Refused, readAccount } from '../../aws/account.ts';
import { deadLetterQueues, leastConcurrency, smallAccount, usualConcurrency } from '../../contract/concurrency.ts';
import { CliFault, type Shell, exitCodes } from '../command.ts';
import { messageOf } from '../fault-of.ts';
import type { Check } from './doctor.ts';

const count = z.coerce.number();
const claim = z.union([z.boolean(), z.enum(['true', 'false'])]).transform((value) => value === true || value === 'true');

/** Those of the settings of docs/DEPLOY.md that an account may be too small for. */
const settingsShape = z.object({
  preset: z.enum(['small']).optional(),
  nodeConcurrency: count.optional(),
  resultConcurrency: count.optional(),
  codeConcurrency: count.optional(),
  codeRunsIn: z.string().optional(),
  watchedRuns: count.optional(),
  watchers: z.union([z.literal('uncapped'), count]).optional(),
  reservesWatchers: claim.optional(),
  requestsPerSecond: count.optional(),
  requestBurst: count.optional(),
  setsAccountLogRole: claim.optional(),
});
export type AccountSettings = z.output<typeof settingsShape>;

const contextShape = z.looseObject({ context: z.record(z.string(), z.unknown()).default({}) });
const prefix = 'stepwell:';

/** Those of the folder's cdk.json. What is given to `cdk` on the command line is not known here. */
function settingsIn(folder: string, preset: 'small' | undefined): AccountSettings {
  const file = join(folder, 'cdk.json');
  const context = existsSync(file) ? contextShape.parse(JSON.parse(readFileSync(file, 'utf8'))).context : {};
  const own = Object.entries(context).flatMap(([key, value]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
  );
  return settingsShape.parse({ ...Object.fromEntries(own), ...(preset === undefined ? {} : { preset }) });
}

export interface AccountOptions {
  readonly region?: string | undefined;
  readonly preset?: 'small' | undefined;
}

export async function checkAccount(shell: Shell, { region, preset }: AccountOptions): Promise<readonly Check[]> {
  const settings = settingsIn(shell.cwd, preset);
  try {
    const account = await readAccount({ ...(region === undefined ? {} : { region }), fetch: shell.fetch, now: shell.now });
    return judgeAccount(account, settings);
  } catch (trouble) {
    shell.signal.throwIfAborted();
    if (trouble instanceof NotConfigured)
      throw new CliFault(
        'aws_not_configured',
        `No AWS credentials or no region: ${trouble.message}. Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and --region.`,
      );
    // What AWS refuses is about credentials and permissions, and the operator's to mend.
    const exitCode = trouble instanceof Refused ? exitCodes.failed : exitCodes.unreachable;
    throw new CliFault('aws', `AWS could not be asked: ${messageOf(trouble)}`, exitCode);
  }
}

/** Of an account's concurrency, what reservations must leave to the functions that have none. An account with less can reserve none. */
const leastUnreserved = 100;
/** Below this an installation with sleeping runs would notice; the usual quota is 10,000,000. */
const fewSchedules = 10_000;

const askForMore =
  'ask for more: aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384';

/** Pure: what would fail in this account with these settings, and which setting to change. */
export function judgeAccount(account: Account, settings: AccountSettings): readonly Check[] {
  const wanted = { ...usualConcurrency, ...(settings.preset === 'small' ? smallAccount : {}), ...present(settings) };
  return [
    { name: 'region', verdict: 'ok', message: account.region },
    concurrencyOf(account, wanted),
    reservationOf(account, wanted),
    requestsOf(account, wanted),
    logRoleOf(account, wanted),
    schedulesOf(account),
  ];
}

type Wanted = AccountSettings & { readonly [Name in keyof typeof usualConcurrency]: number | 'uncapped' };

const present = (settings: AccountSettings): Partial<Wanted> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));

/** What may run at once: the queues, and readers. Requests come on top. */
function concurrencyOf({ concurrency, unreserved }: Account, wanted: Wanted): Check {
  const name = 'concurrency';
  const { nodeConcurrency, resultConcurrency, codeConcurrency, watchedRuns, watchers } = wanted;
  const code = wanted.codeRunsIn === 'worker' ? 0 : Number(codeConcurrency);
  const mappings = [Number(nodeConcurrency), Number(nodeConcurrency), Number(resultConcurrency), code, Number(watchedRuns)];
  const queues = mappings.reduce((sum, one) => sum + one, deadLetterQueues * leastConcurrency);
  const streams = watchers === 'uncapped' || wanted.reservesWatchers === true ? 0 : watchers;
  const asked = queues + streams;
  const has = `the account has ${concurrency} concurrent executions, ${unreserved} of them reserved for no function`;
  const ask = `queues may take ${queues} and streams ${watchers === 'uncapped' ? 'all of it' : streams}`;
  if (asked < unreserved && watchers !== 'uncapped') return { name, verdict: 'ok', message: `${has}; ${ask}` };
  const isLeast = mappings.every((one) => one <= leastConcurrency) && watchers !== 'uncapped' && streams <= leastConcurrency;
  if (isLeast)
    return { name, verdict: 'warn', message: `${has}; ${ask}, which is the least: a burst throttles requests; ${askForMore}` };
  return {
    name,
    verdict: 'fail',
    message: `${has}; ${ask}: under load requests are throttled. Set preset to small, or lower nodeConcurrency, codeConcurrency, watchedRuns or watchers; or ${askForMore}`,
  };
}

function reservationOf({ concurrency, unreserved }: Account, { reservesWatchers, watchers }: Wanted): Check {
  const name = 'reservation';
  if (reservesWatchers !== true || watchers === 'uncapped')
    return { name, verdict: 'ok', message: 'the settings reserve nothing' };
  const least = Math.min(leastUnreserved, concurrency);
  const change = 'set reservesWatchers to false, or lower watchers';
  if (concurrency - watchers < least)
    return {
      name,
      verdict: 'fail',
      message: `the deployment rolls back: of ${concurrency} concurrent executions ${least} must stay unreserved, and watchers reserves ${watchers}; ${change}`,
    };
  if (unreserved - watchers < least)
    return {
      name,
      verdict: 'warn',
      message: `${concurrency - unreserved} are reserved already. Unless those are this installation's, the deployment rolls back: ${least} must stay; ${change}`,
    };
  return { name, verdict: 'ok', message: `${watchers} can be reserved` };
}

function requestsOf({ requestRate, requestBurst }: Account, wanted: Wanted): Check {
  const name = 'api gateway';
  if (requestRate === undefined || requestBurst === undefined)
    return { name, verdict: 'warn', message: 'API Gateway does not say how many requests the account may have' };
  const over = [
    ...(Number(wanted.requestsPerSecond) > requestRate ? [`requestsPerSecond (${wanted.requestsPerSecond})`] : []),
    ...(Number(wanted.requestBurst) > requestBurst ? [`requestBurst (${wanted.requestBurst})`] : []),
  ];
  const has = `all APIs of the account may have ${requestRate} requests a second and ${requestBurst} at once`;
  if (over.length === 0) return { name, verdict: 'ok', message: has };
  return { name, verdict: 'warn', message: `${has}: the account throttles before ${over.join(' and ')} does; lower it` };
}

function logRoleOf({ hasLogRole }: Account, { setsAccountLogRole }: Wanted): Check {
  const name = 'log role';
  if (setsAccountLogRole !== false)
    return { name, verdict: 'ok', message: 'the deployment sets the role with which API Gateway writes logs' };
  if (hasLogRole) return { name, verdict: 'ok', message: 'API Gateway has a role with which it writes logs' };
  return {
    name,
    verdict: 'fail',
    message: 'the deployment fails: API Gateway has no role with which it writes logs; set setsAccountLogRole to true',
  };
}

function schedulesOf({ schedules }: Account): Check {
  const name = 'schedules';
  if (schedules === undefined)
    return { name, verdict: 'warn', message: 'Service Quotas does not say how many schedules there may be' };
  if (schedules >= fewSchedules)
    return { name, verdict: 'ok', message: `${schedules} runs may sleep for more than 15 minutes at once` };
  return {
    name,
    verdict: 'warn',
    message: `only ${schedules} runs may sleep for more than 15 minutes at once: ask for more of EventBridge Scheduler, Number of schedules`,
  };
}
