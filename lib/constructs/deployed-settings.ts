/** The stored setting `deployed`: what the console shows of the settings. It has names and numbers, and no ARN. */
import { existsSync, readFileSync } from 'node:fs';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import { defaultConcurrency } from '../contract/concurrency.ts';
import type { executionSettings } from './functions.ts';
import { type GatewayProps, hasStartApi } from './gateways.ts';
import type { ObservabilityProps } from './observability.ts';
import type { DeployedSettings } from '../api/schemas/installation.ts';
import type { databaseSetting, secretSetting } from '../api/schemas/project-settings.ts';
import type { webhookProviders } from '../webhooks/provider.ts';

/** Settings without a schema, and what encrypts and keeps the data. */
export interface DeployedParts {
  readonly props: Pick<GatewayProps, 'domain' | 'webAclArn' | 'startApi' | 'requestsPerSecond' | 'requestBurst'> &
    Pick<ObservabilityProps, 'dashboard'> & { readonly encryptionKey?: IKey };
  readonly execution: ReturnType<typeof executionSettings>;
  readonly storage: { readonly retentionDays: number; readonly encryptionKey: IKey | undefined };
}

function limitsOf({ props, execution, storage }: DeployedParts): DeployedSettings['limits'] {
  const { requestsPerSecond, requestBurst } = props;
  const rates = { ...defaultConcurrency, ...defined({ requestsPerSecond, requestBurst }) };
  return {
    retentionDays: storage.retentionDays,
    idempotencyHours: execution.idempotencyHours,
    requestsPerSecond: rates.requestsPerSecond,
    requestBurst: rates.requestBurst,
    nodeConcurrency: execution.nodeConcurrency,
    maxProjectShare: execution.maxProjectShare,
    resultConcurrency: execution.resultConcurrency,
    codeConcurrency: execution.codeConcurrency,
    workerTimeoutSeconds: execution.workerTimeoutSeconds,
    codeTimeoutSeconds: execution.codeTimeoutSeconds,
    watchers: execution.watchers ?? null,
    watchedRuns: execution.watchedRuns,
  };
}

const featuresOf = ({ props, execution, storage }: DeployedParts): DeployedSettings['features'] => ({
  codePermissions: execution.codePermissions !== undefined,
  dashboard: props.dashboard !== false,
  domain: props.domain !== undefined,
  encryptionKey: (props.encryptionKey ?? storage.encryptionKey) !== undefined,
  metrics: execution.metrics,
  network: execution.network !== undefined,
  requireHttps: execution.requireHttps,
  reservesWatchers: execution.reservesWatchers,
  startApi: hasStartApi(props),
  webAclArn: props.webAclArn !== undefined,
});

/** The nearest package.json above this file: the repository's, or the one of the published package, which has the same version. */
function productVersion(): string {
  for (let folder = new URL('./', import.meta.url); ; folder = new URL('../', folder)) {
    const file = new URL('package.json', folder);
    if (existsSync(file)) return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version;
    if (folder.pathname === '/') throw new Error('There is no package.json above the constructs. Install the package again.');
  }
}

interface NamedSettings {
  readonly corsOrigins: readonly string[];
  readonly models: Readonly<Record<string, unknown>>;
  readonly secrets: z.output<typeof secretSetting>;
  readonly databases: z.output<typeof databaseSetting>;
  readonly webhooks: z.output<typeof webhookProviders>;
  /** filled until the synthesis */
  readonly triggers: readonly NamedOfScope[];
}

type ByEnvironment = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const namesIn = (byProject: Readonly<Record<string, ByEnvironment>>): DeployedSettings['secrets'] =>
  Object.fromEntries(
    Object.entries(byProject).map(([project, byEnvironment]) => [
      project,
      Object.fromEntries(Object.entries(byEnvironment).map(([environment, names]) => [environment, Object.keys(names)])),
    ]),
  );

interface NamedOfScope {
  readonly name: string;
  readonly projectId: string;
  readonly environment: string;
}

const namesByScope = (named: readonly NamedOfScope[]): DeployedSettings['webhooks'] => {
  const names: Record<string, Record<string, readonly string[]>> = {};
  for (const { name, projectId, environment } of named) {
    const ofProject = (names[projectId] ??= {});
    ofProject[environment] = [...(ofProject[environment] ?? []), name];
  }
  return names;
};

/** @param switches what is on of the settings with a schema */
export const deployedSettingOf = (
  parts: DeployedParts,
  switches: DeployedSettings['features'],
  named: NamedSettings,
): DeployedSettings => ({
  version: productVersion(),
  limits: limitsOf(parts),
  features: { ...featuresOf(parts), ...switches },
  choices: { runEvents: parts.execution.runEvents.value },
  corsOrigins: named.corsOrigins,
  models: Object.keys(named.models),
  secrets: namesIn(named.secrets),
  databases: namesIn(named.databases),
  webhooks: namesByScope(Object.entries(named.webhooks).map(([name, webhook]) => ({ name, ...webhook }))),
  get triggers() {
    return namesByScope(named.triggers);
  },
});
