/** The setting `databases`: the Aurora databases that the queries of each project may use. Synthesis and the worker read it. */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../../contract/secret-arn.ts';
import { environmentPattern, projectIdPattern } from '../../engine/ids.ts';

const environments = z.string().refine((text) => text === '*' || environmentPattern.test(text), 'must be an environment, or *');
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a database');

const database = z.strictObject({
  clusterArn: z
    .string()
    .regex(/^arn:aws[a-z-]*:rds:[a-z0-9-]+:\d{12}:cluster:[A-Za-z][A-Za-z0-9-]{0,62}$/, 'must be the complete ARN of a cluster'),
  /** the database credentials: the Data API reads the secret with the worker's role, and the worker never receives its text */
  secretArn: z.string().regex(secretArnPattern, secretArnMessage),
  /** the name of the database in the cluster */
  database: z.string().min(1).max(63),
});

export const databaseSetting = z.record(z.string().regex(projectIdPattern), z.record(environments, z.record(name, database)));
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
