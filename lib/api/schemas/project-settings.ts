/** The settings `secrets` and `databases`, by project and environment. Synthesis and the worker read them. */
import * as z from 'zod';
import { secretArnMessage, secretArnPattern } from '../../contract/secret-arn.ts';
import { environmentPattern, projectIdPattern } from '../../engine/ids.ts';

const environments = z.string().refine((text) => text === '*' || environmentPattern.test(text), 'must be an environment, or *');

/** The name in `{{secret:name}}`. */
const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export const completeSecretArn = z.string().regex(secretArnPattern, secretArnMessage);

const arnSource = secretArnPattern.source.replace(/\$$/, '');
const reference = z
  .string()
  .regex(new RegExp(`${arnSource}(#.{1,128})?$`), `${secretArnMessage}, optionally followed by # and a key of a JSON secret`);

/** The secrets that the nodes of each project may use. */
export const secretSetting = z.record(
  z.string().regex(projectIdPattern),
  z.record(environments, z.record(z.string().regex(secretNamePattern), reference)),
);
export type SecretSetting = z.output<typeof secretSetting>;

/** Parses the setting for the worker. */
export const parseSecretSetting = (setting: z.input<typeof secretSetting>): SecretSetting => secretSetting.parse(setting);

/** Distinct ARNs of the secrets. */
export const secretArnsIn = (setting: SecretSetting): readonly string[] => [
  ...new Set(
    Object.values(setting)
      .flatMap((byEnvironment) => Object.values(byEnvironment))
      .flatMap((byName) => Object.values(byName))
      .map((arn) => arn.replace(/#.*$/, '')),
  ),
];

const databaseName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a database');

const database = z.strictObject({
  clusterArn: z
    .string()
    .regex(/^arn:aws[a-z-]*:rds:[a-z0-9-]+:\d{12}:cluster:[A-Za-z][A-Za-z0-9-]{0,62}$/, 'must be the complete ARN of a cluster'),
  /** the database credentials: the Data API reads the secret with the worker's role, and the worker never receives its text */
  secretArn: completeSecretArn,
  /** the name of the database in the cluster */
  database: z.string().min(1).max(63),
});

/** The Aurora databases that the queries of each project may use. */
export const databaseSetting = z.record(
  z.string().regex(projectIdPattern),
  z.record(environments, z.record(databaseName, database)),
);
export type DatabaseSetting = z.output<typeof databaseSetting>;

const allDatabases = (setting: DatabaseSetting) =>
  Object.values(setting)
    .flatMap((byEnvironment) => Object.values(byEnvironment))
    .flatMap((byName) => Object.values(byName));

/** Distinct ARNs. */
export const clusterArnsIn = (setting: DatabaseSetting): readonly string[] => [
  ...new Set(allDatabases(setting).map(({ clusterArn }) => clusterArn)),
];
export const databaseSecretArnsIn = (setting: DatabaseSetting): readonly string[] => [
  ...new Set(allDatabases(setting).map(({ secretArn }) => secretArn)),
];
