/** The settings of the app, as they stand in the CDK's context: `cdk deploy -c stepwell:retentionDays=60`. */
import type { Environment } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { functionNames } from '../contract/environment.ts';

/** Settings given on the command line are strings. */
const count = z.coerce.number().int();
const claim = z.union([z.boolean(), z.enum(['true', 'false'])]).transform((value) => value === true || value === 'true');
const arn = z.string().startsWith('arn:');

/** Passed on to the construct, where each is described. */
const productSchema = z.object({
  idempotencyHours: count.exactOptional(),
  requireHttps: claim.exactOptional(),
  workerTimeoutSeconds: count.exactOptional(),
  codeTimeoutSeconds: count.exactOptional(),
  codeConcurrency: count.exactOptional(),
  nodeConcurrency: count.exactOptional(),
  resultConcurrency: count.exactOptional(),
  watchers: z.union([z.literal('uncapped'), count]).exactOptional(),
  nodeQueue: z.enum(['fifo', 'standard']).exactOptional(),
  logRetention: count.pipe(z.enum(RetentionDays)).exactOptional(),
  requestsPerSecond: count.exactOptional(),
  requestBurst: count.exactOptional(),
  setsAccountLogRole: claim.exactOptional(),
  webAclArn: arn.exactOptional(),
  memoryMb: z.partialRecord(z.enum(functionNames), count).exactOptional(),
});

const settingsSchema = z.strictObject({
  ...productSchema.shape,
  /** Begins the names of the stacks, so that one account can hold several installations. */
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/)
    .default('Stepwell'),
  account: z.string().exactOptional(),
  region: z.string().exactOptional(),
  /** `false` takes the bundles of the functions as they are. */
  buildsFunctions: claim.default(true),
  retentionDays: count.exactOptional(),
  keepsDataOnDelete: claim.default(true),
  /** `own` makes a key; an ARN takes one. */
  encryptionKey: z.union([z.literal('own'), arn]).exactOptional(),
  alarmTopicArn: arn.exactOptional(),
  domain: z
    .strictObject({
      name: z.string(),
      certificateArn: arn,
      hostedZone: z.strictObject({ id: z.string(), name: z.string() }).exactOptional(),
    })
    .exactOptional(),
});

export type Settings = z.infer<typeof settingsSchema>;
export type ProductSettings = z.infer<typeof productSchema>;

const prefix = 'stepwell:';

/** Reads the keys `stepwell:…` of a context. Throws with every unknown or unusable setting by name. */
export function parseSettings(context: Readonly<Record<string, unknown>>): Settings {
  const own = Object.entries(context).filter(([key]) => key.startsWith(prefix));
  const parsed = settingsSchema.safeParse(Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value])));
  if (parsed.success) return parsed.data;
  throw new Error(`Stepwell's settings (context ${prefix}…) cannot be used:\n${z.prettifyError(parsed.error)}`);
}

export const productSettings = (settings: Settings): ProductSettings => productSchema.parse(settings);

/** Where the stacks go. Without account and region they fit any, and synthesizing them asks nobody. */
export const environmentOf = ({ account, region }: Settings): Environment => ({
  ...(account === undefined ? {} : { account }),
  ...(region === undefined ? {} : { region }),
});
