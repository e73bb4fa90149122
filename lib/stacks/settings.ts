/** The settings of the app, read from the CDK context: `cdk deploy -c stepwell:retentionDays=60`. */
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { codeVariables } from '../api/schemas/code-variables.ts';
import { consoleSetting } from '../api/schemas/console-setting.ts';
import { corsOrigins } from '../api/schemas/cors-origins.ts';
import { privateDestinations } from '../api/schemas/private-destinations.ts';
import { databaseSetting, secretSetting } from '../api/schemas/project-settings.ts';
import { traceSetting } from '../api/schemas/trace-setting.ts';
import { firstKeySetting, seedKeys } from '../api/schemas/seed-keys.ts';
import { smallAccount } from '../contract/concurrency.ts';
import { functionNames } from '../contract/environment.ts';
import { modelSetting, moderationSetting } from '../models/setting.ts';
import { triggerSetting } from '../triggers/setting.ts';
import { webhookProviders } from '../webhooks/provider.ts';
import { codePermissionSetting } from './code-permissions.ts';

/** Settings from the command line are strings. */
const count = z.coerce.number().int();
const booleanSetting = z.union([z.boolean(), z.enum(['true', 'false'])]).transform((value) => value === true || value === 'true');
const arn = z.string().startsWith('arn:');

/** Settings with several values are JSON on the command line. */
const orJson = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value);
    } catch {
      context.addIssue('must be JSON');
      return z.NEVER;
    }
  }, schema);

/** A single number applies to every function. */
const memoryMb = z.preprocess(
  (value) => (typeof value === 'number' ? Object.fromEntries(functionNames.map((name) => [name, value])) : value),
  z.partialRecord(z.enum(functionNames), count),
);

/** Settings of the construct, where they are documented. */
const productSchema = z.object({
  idempotencyHours: count.exactOptional(),
  requireHttps: booleanSetting.exactOptional(),
  metrics: booleanSetting.exactOptional(),
  runEvents: z.enum(['none', 'failed', 'ended', 'all']).exactOptional(),
  dashboard: booleanSetting.exactOptional(),
  workerTimeoutSeconds: count.exactOptional(),
  codeTimeoutSeconds: count.exactOptional(),
  codeConcurrency: count.exactOptional(),
  codeRunsIn: z.enum(['lambda', 'worker', 'both']).exactOptional(),
  nodeConcurrency: count.exactOptional(),
  maxProjectShare: count.exactOptional(),
  resultConcurrency: count.exactOptional(),
  watchers: z.union([z.literal('uncapped'), count]).exactOptional(),
  reservesWatchers: booleanSetting.exactOptional(),
  watchedRuns: count.exactOptional(),
  nodeQueue: z.enum(['fifo', 'standard']).exactOptional(),
  logRetention: count.pipe(z.enum(RetentionDays)).exactOptional(),
  requestsPerSecond: count.exactOptional(),
  requestBurst: count.exactOptional(),
  setsAccountLogRole: booleanSetting.exactOptional(),
  webAclArn: arn.exactOptional(),
  startApi: booleanSetting.exactOptional(),
  corsOrigins: orJson(corsOrigins).exactOptional(),
  privateDestinations: orJson(privateDestinations).exactOptional(),
  allowLocalhost: booleanSetting.exactOptional(),
  traces: orJson(traceSetting).exactOptional(),
  firstKey: orJson(firstKeySetting).exactOptional(),
  seedKeys: orJson(seedKeys).exactOptional(),
  webhooks: orJson(webhookProviders).exactOptional(),
  secrets: orJson(secretSetting).exactOptional(),
  models: orJson(modelSetting).exactOptional(),
  moderation: orJson(moderationSetting).exactOptional(),
  databases: orJson(databaseSetting).exactOptional(),
  codeVariables: orJson(codeVariables).exactOptional(),
  console: orJson(consoleSetting).exactOptional(),
  triggers: orJson(triggerSetting).exactOptional(),
  devKitSecretArn: arn.exactOptional(),
  memoryMb: orJson(memoryMb).exactOptional(),
});

/** Target environment. Without account and region, the stacks are environment-agnostic and the synthesis needs no credentials. */
const environmentSchema = z.object({
  account: z.string().exactOptional(),
  region: z.string().exactOptional(),
});

const settingsSchema = z.strictObject({
  ...productSchema.shape,
  /** Permissions of deployed code. */
  codePermissions: orJson(codePermissionSetting).exactOptional(),
  /** Prefix of the stack names, so that one account can contain several installations. */
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/)
    .default('Stepwell'),
  /** Defaults. */
  preset: z.enum(['small']).exactOptional(),
  ...environmentSchema.shape,
  /** `false` uses existing function bundles. */
  buildsFunctions: booleanSetting.default(true),
  retentionDays: count.exactOptional(),
  keepsDataOnDelete: booleanSetting.default(true),
  /** `own` creates a KMS key; an ARN uses an existing one. */
  encryptionKey: z.union([z.literal('own'), arn]).exactOptional(),
  alarmTopicArn: arn.exactOptional(),
  domain: orJson(
    z.strictObject({
      name: z.string(),
      certificateArn: arn,
      hostedZone: z.strictObject({ id: z.string(), name: z.string() }).exactOptional(),
    }),
  ).exactOptional(),
});

export type Settings = z.infer<typeof settingsSchema>;
export type ProductSettings = z.infer<typeof productSchema>;

const prefix = 'stepwell:';

/** Parses the context keys `stepwell:…`. The error names every unknown or invalid setting. */
export function parseSettings(context: Readonly<Record<string, unknown>>): Settings {
  const stepwellEntries = Object.entries(context).filter(([key]) => key.startsWith(prefix));
  for (const [key, value] of stepwellEntries) {
    const secretKind = secretIn(value);
    if (secretKind !== undefined)
      throw new Error(
        `The setting ${key} contains a value that looks like ${secretKind}. Settings must not contain secrets: use its secretArn or sha256 instead.`,
      );
  }
  const parsed = settingsSchema.safeParse(
    Object.fromEntries(stepwellEntries.map(([key, value]) => [key.slice(prefix.length), value])),
  );
  if (parsed.success) return parsed.data;
  throw new Error(`Stepwell's settings (context ${prefix}…) are invalid:\n${z.prettifyError(parsed.error)}`);
}

const secretShapes: readonly (readonly [RegExp, string])[] = [
  [/sw_[a-z0-9-]{1,32}_[0-9A-Za-z]{8,32}_[0-9A-Za-z]{40}/, 'an API key'],
  [/(?<![0-9A-Za-z-])sk-(?:[a-z]{3,8}-)?[0-9A-Za-z]{20}/, 'the API key of a model provider'],
  [/whsec_[0-9A-Za-z+/=]{16}/, 'the secret of a webhook'],
];

/** The kind of secret in the value. Never print the value itself: error messages end up in logs. */
function secretIn(value: unknown): string | undefined {
  const text = JSON.stringify(value) ?? '';
  return secretShapes.find(([shape]) => shape.test(text))?.[1];
}

const presets = { small: smallAccount } as const;

export const productSettings = ({ preset, ...settings }: Settings): ProductSettings =>
  productSchema.parse({ ...(preset === undefined ? {} : presets[preset]), ...settings });

export const environmentOf = (settings: Settings): z.output<typeof environmentSchema> => environmentSchema.parse(settings);
