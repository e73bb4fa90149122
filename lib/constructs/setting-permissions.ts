/** Permissions for large settings of the installation and for the secrets, models and databases that they name. */
import { partitionOf } from '../contract/record-kinds.ts';
import type { StoredSettingName } from '../contract/stored-settings.ts';
import { allow, partitionCondition } from './statements.ts';
import type { Permission } from './permissions.ts';
import type { ProductResources } from './resources.ts';

/**
 * Maximum ARNs in one statement. A role's inline policies may have 10,240 characters and a managed policy 6,144. The CDK moves whole
 * statements from inline to managed policies, so a statement must fit into one.
 */
const maxArnsPerStatement = 12;

/** No resources: no statement. */
const allowInChunks = (actions: readonly string[], arns: readonly string[]) => {
  const distinct = [...new Set(arns)];
  return Array.from({ length: Math.ceil(distinct.length / maxArnsPerStatement) }, (_, part) =>
    allow(actions, distinct.slice(part * maxArnsPerStatement, (part + 1) * maxArnsPerStatement)),
  );
};

export const readSecrets = (arns: readonly string[]) => allowInChunks(['secretsmanager:GetSecretValue'], arns);

const readSettings = ({ storage }: Pick<ProductResources, 'storage'>, ...names: readonly StoredSettingName[]) =>
  allow(
    ['dynamodb:GetItem'],
    [storage.controlTable.tableArn],
    partitionCondition(...names.map((name) => partitionOf('setting', name))),
  );

export const settingPermissions = {
  'store settings': { environment: ['controlTable'], records: { control: { setting: 'qpu' } } },
  'read code variables': {
    environment: ['controlTable', 'codeVariables'],
    statements: (resources) => [readSettings(resources, 'codeVariables')],
  },
  'read triggers': {
    environment: ['controlTable', 'triggers'],
    statements: (resources) => [readSettings(resources, 'triggers')],
  },
  'read secrets of webhooks': {
    environment: ['controlTable', 'webhooks'],
    statements: (resources) => [readSettings(resources, 'webhooks'), ...readSecrets(resources.webhookSecretArns)],
  },
  'read secrets of nodes': {
    environment: ['controlTable', 'secrets'],
    statements: (resources) => [readSettings(resources, 'secrets'), ...readSecrets(resources.nodeSecretArns)],
  },
  'call models': {
    environment: ['controlTable', 'models', 'moderation'],
    statements: ({ modelSecretArns, modelArns, guardrailArn, ...resources }) => [
      readSettings(resources, 'models', 'moderation'),
      ...readSecrets(modelSecretArns),
      ...allowInChunks(['bedrock:InvokeModelWithResponseStream'], modelArns),
      ...(guardrailArn === undefined ? [] : [allow(['bedrock:ApplyGuardrail'], [guardrailArn])]),
    ],
  },
  /** What the console shows of the settings: names and numbers. */
  'describe the installation': {
    environment: ['controlTable', 'deployed'],
    statements: (resources) => [readSettings(resources, 'deployed')],
  },
  /** How people sign in to the console, and the secret with which the installation is a client of their identity provider. */
  'sign in with a provider': {
    environment: ['controlTable', 'console'],
    statements: (resources) => [readSettings(resources, 'console'), ...readSecrets(resources.consoleSecretArns)],
  },
  /** Not for the code function: the code of one app could derive the keys of all runs. */
  'derive keys of runs': {
    environment: ['devKitSecretArn'],
    statements: ({ devKitSecretArns }) => readSecrets(devKitSecretArns),
  },
  /** The Data API reads a database's secret with the caller's permissions. */
  'query databases': {
    environment: ['controlTable', 'databases'],
    statements: ({ clusterArns, databaseSecretArns, ...resources }) => [
      readSettings(resources, 'databases'),
      ...allowInChunks(
        ['rds-data:ExecuteStatement', 'rds-data:BeginTransaction', 'rds-data:CommitTransaction', 'rds-data:RollbackTransaction'],
        clusterArns,
      ),
      ...readSecrets(databaseSecretArns),
    ],
  },
} as const satisfies Record<string, Permission>;
