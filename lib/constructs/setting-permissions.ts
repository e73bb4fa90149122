/** Who reads and writes the large settings of the installation, and what these name: secrets, models and databases. */
import { partitionOf } from '../contract/record-kinds.ts';
import type { StoredSettingName } from '../contract/stored-settings.ts';
import { allow, ofPartitions } from './allow.ts';
import type { Permission, Places } from './permissions.ts';

/**
 * How many ARNs one statement names: a role's inline policies have 10,240 characters and a managed policy has 6,144, and the CDK moves
 * whole statements from the one to the others.
 */
const mostArnsOfStatement = 12;

/** A statement without resources is none. */
const allowEach = (actions: readonly string[], arns: readonly string[]) => {
  const distinct = [...new Set(arns)];
  return Array.from({ length: Math.ceil(distinct.length / mostArnsOfStatement) }, (_, part) =>
    allow(actions, distinct.slice(part * mostArnsOfStatement, (part + 1) * mostArnsOfStatement)),
  );
};

export const readSecrets = (arns: readonly string[]) => allowEach(['secretsmanager:GetSecretValue'], arns);

const readSettings = ({ storage }: Pick<Places, 'storage'>, ...names: readonly StoredSettingName[]) =>
  allow(
    ['dynamodb:GetItem'],
    [storage.controlTable.tableArn],
    ofPartitions(...names.map((name) => partitionOf('setting', name))),
  );

export const settingPermissions = {
  'keep settings': { environment: ['controlTable'], records: { control: { setting: 'qpu' } } },
  'read code variables': {
    environment: ['controlTable', 'codeVariables'],
    statements: (places) => [readSettings(places, 'codeVariables')],
  },
  'read secrets of webhooks': {
    environment: ['controlTable', 'webhooks'],
    statements: (places) => [readSettings(places, 'webhooks'), ...readSecrets(places.webhookSecretArns)],
  },
  'read secrets of nodes': {
    environment: ['controlTable', 'secrets'],
    statements: (places) => [readSettings(places, 'secrets'), ...readSecrets(places.nodeSecretArns)],
  },
  'ask models': {
    environment: ['controlTable', 'models', 'moderation'],
    statements: ({ modelSecretArns, modelArns, guardrailArn, ...places }) => [
      readSettings(places, 'models', 'moderation'),
      ...readSecrets(modelSecretArns),
      ...allowEach(['bedrock:InvokeModelWithResponseStream'], modelArns),
      ...(guardrailArn === undefined ? [] : [allow(['bedrock:ApplyGuardrail'], [guardrailArn])]),
    ],
  },
  /** The Data API reads the secret of a database in the name of whoever asks. */
  'ask databases': {
    environment: ['controlTable', 'databases'],
    statements: ({ clusterArns, databaseSecretArns, ...places }) => [
      readSettings(places, 'databases'),
      ...allowEach(
        ['rds-data:ExecuteStatement', 'rds-data:BeginTransaction', 'rds-data:CommitTransaction', 'rds-data:RollbackTransaction'],
        clusterArns,
      ),
      ...readSecrets(databaseSecretArns),
    ],
  },
} as const satisfies Record<string, Permission>;
