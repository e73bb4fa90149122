/** The settings of a function, each parsed from its environment variable at the first access. */
import * as z from 'zod';
import { lazyProperties } from '../base/lazy.ts';
import { type EnvironmentName, environmentNames } from '../contract/environment.ts';
import { type FairShares, fairSharesOf } from '../engine/fair-shares.ts';
import { runEventLevels } from '../engine/run-events.ts';

const nonEmptyText = z.string().min(1);
const url = z.url();
const arn = z.string().startsWith('arn:');
const count = z.coerce.number().int().min(1);

const schemas = {
  runsTable: nonEmptyText,
  controlTable: nonEmptyText,
  bucket: nonEmptyText,
  nodeQueueUrl: url,
  nodeConcurrency: count,
  maxProjectShare: count.max(100),
  delayQueueUrl: url,
  resultsQueueUrl: url,
  codeQueueUrl: url,
  watchQueueUrl: url,
  socketsUrl: url,
  delayQueueArn: arn,
  scheduleGroup: nonEmptyText,
  scheduleRoleArn: arn,
  eventBusName: nonEmptyText,
  runEvents: z.enum(runEventLevels),
  retentionDays: count,
  idempotencyHours: count,
  // Absent in functions that no browser calls.
  corsOrigins: z
    .string()
    .default('')
    .transform((text) => (text === '' ? [] : text.split(','))),
  privateDestinations: z
    .string()
    .default('')
    .transform((text) => (text === '' ? [] : text.split(','))),
  traces: nonEmptyText,
  webhooks: nonEmptyText,
  secrets: nonEmptyText,
  models: nonEmptyText,
  moderation: nonEmptyText,
  databases: nonEmptyText,
  codeVariables: nonEmptyText,
  console: nonEmptyText,
  triggers: nonEmptyText,
  deployed: nonEmptyText,
  devKitSecretArn: z.union([arn, z.literal('')]).transform((text) => (text === '' ? undefined : text)),
  encryptsRuns: z.enum(['true', 'false']).transform((text) => text === 'true'),
  // Absent in worker processes.
  worldFunction: z
    .string()
    .default('')
    .transform((text) => (text === '' ? undefined : text)),
  apiAddress: z
    .union([url, z.literal('')])
    .default('')
    .transform((text) => (text === '' ? undefined : text)),
  workerFunction: z
    .string()
    .default('')
    .transform((text) => (text === '' ? undefined : text)),
  codeFunction: z
    .string()
    .default('')
    .transform((text) => (text === '' ? undefined : text)),
  codeRoleArn: z.union([arn, z.literal('')]).transform((text) => (text === '' ? undefined : text)),
  watchers: z.union([z.literal('').transform(() => undefined), count]),
  metrics: z.enum(['true', 'false']).transform((text) => text === 'true'),
  requireHttps: z.enum(['true', 'false']).transform((text) => text === 'true'),
} satisfies Record<EnvironmentName, z.ZodType>;

/** A function has only the variables that it needs. Access to another setting throws an error with the variable's name. */
export type Settings = { readonly [Name in EnvironmentName]: z.output<(typeof schemas)[Name]> };

export function settingsFrom(variables: Readonly<Record<string, string | undefined>>): Settings;
export function settingsFrom(variables: Readonly<Record<string, string | undefined>>): object {
  const names: Readonly<Record<string, string>> = environmentNames;
  return lazyProperties(
    Object.fromEntries(
      Object.entries(schemas).map(([setting, schema]) => [
        setting,
        () => {
          const name = names[setting] ?? setting;
          const result = schema.safeParse(variables[name]);
          if (!result.success) throw new Error(`${name}: ${z.prettifyError(result.error)}`);
          return result.data;
        },
      ]),
    ),
  );
}

/** Undefined if the node queue is a standard queue: without message groups, a project's share cannot be limited. */
export const sharesIn = ({
  nodeQueueUrl,
  nodeConcurrency,
  maxProjectShare,
}: Pick<Settings, 'nodeQueueUrl' | 'nodeConcurrency' | 'maxProjectShare'>): FairShares | undefined =>
  nodeQueueUrl.endsWith('.fifo') ? fairSharesOf(nodeConcurrency, maxProjectShare) : undefined;
