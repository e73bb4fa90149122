/** The settings of a function, parsed from its environment variables at each access. */
import * as z from 'zod';
import { type EnvironmentName, environmentNames } from '../contract/environment.ts';

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
  startedEvents: z.enum(['true', 'false']).transform((text) => text === 'true'),
  retentionDays: count,
  idempotencyHours: count,
  // Absent in functions that no browser calls.
  corsOrigins: z
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
  codeRoleArn: z.union([arn, z.literal('')]).transform((text) => (text === '' ? undefined : text)),
  watchers: z.union([z.literal('').transform(() => undefined), count]),
  metrics: z.enum(['true', 'false']).transform((text) => text === 'true'),
  requireHttps: z.enum(['true', 'false']).transform((text) => text === 'true'),
} satisfies Record<EnvironmentName, z.ZodType>;

/** A function has only the variables that it needs. Access to another setting throws an error with the variable's name. */
export type Settings = { readonly [Name in EnvironmentName]: z.output<(typeof schemas)[Name]> };

export const settingsFrom = (variables: Readonly<Record<string, string | undefined>>): Settings => {
  const setting = <Value>(name: EnvironmentName, schema: z.ZodType<Value>): Value => {
    const result = schema.safeParse(variables[environmentNames[name]]);
    if (!result.success) throw new Error(`${environmentNames[name]}: ${z.prettifyError(result.error)}`);
    return result.data;
  };
  return {
    get runsTable() {
      return setting('runsTable', schemas.runsTable);
    },
    get controlTable() {
      return setting('controlTable', schemas.controlTable);
    },
    get bucket() {
      return setting('bucket', schemas.bucket);
    },
    get nodeQueueUrl() {
      return setting('nodeQueueUrl', schemas.nodeQueueUrl);
    },
    get nodeConcurrency() {
      return setting('nodeConcurrency', schemas.nodeConcurrency);
    },
    get maxProjectShare() {
      return setting('maxProjectShare', schemas.maxProjectShare);
    },
    get delayQueueUrl() {
      return setting('delayQueueUrl', schemas.delayQueueUrl);
    },
    get resultsQueueUrl() {
      return setting('resultsQueueUrl', schemas.resultsQueueUrl);
    },
    get codeQueueUrl() {
      return setting('codeQueueUrl', schemas.codeQueueUrl);
    },
    get watchQueueUrl() {
      return setting('watchQueueUrl', schemas.watchQueueUrl);
    },
    get socketsUrl() {
      return setting('socketsUrl', schemas.socketsUrl);
    },
    get delayQueueArn() {
      return setting('delayQueueArn', schemas.delayQueueArn);
    },
    get scheduleGroup() {
      return setting('scheduleGroup', schemas.scheduleGroup);
    },
    get scheduleRoleArn() {
      return setting('scheduleRoleArn', schemas.scheduleRoleArn);
    },
    get eventBusName() {
      return setting('eventBusName', schemas.eventBusName);
    },
    get startedEvents() {
      return setting('startedEvents', schemas.startedEvents);
    },
    get retentionDays() {
      return setting('retentionDays', schemas.retentionDays);
    },
    get idempotencyHours() {
      return setting('idempotencyHours', schemas.idempotencyHours);
    },
    get corsOrigins() {
      return setting('corsOrigins', schemas.corsOrigins);
    },
    get traces() {
      return setting('traces', schemas.traces);
    },
    get webhooks() {
      return setting('webhooks', schemas.webhooks);
    },
    get secrets() {
      return setting('secrets', schemas.secrets);
    },
    get models() {
      return setting('models', schemas.models);
    },
    get moderation() {
      return setting('moderation', schemas.moderation);
    },
    get databases() {
      return setting('databases', schemas.databases);
    },
    get codeVariables() {
      return setting('codeVariables', schemas.codeVariables);
    },
    get codeRoleArn() {
      return setting('codeRoleArn', schemas.codeRoleArn);
    },
    get watchers() {
      return setting('watchers', schemas.watchers);
    },
    get metrics() {
      return setting('metrics', schemas.metrics);
    },
    get requireHttps() {
      return setting('requireHttps', schemas.requireHttps);
    },
  };
};
