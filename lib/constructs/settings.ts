/**
 * The settings with a schema. Synthesis parses them. The custom resource stores the text of the large ones, and the functions receive
 * their version as an environment variable.
 */
import type { Construct } from 'constructs';
import type * as z from 'zod';
import { codeVariables } from '../api/schemas/code-variables.ts';
import { type ConsoleSetting, type ParsedConsoleSetting, parseConsoleSetting } from './console-setting.ts';
import { privateDestinations } from '../api/schemas/private-destinations.ts';
import { corsOrigins } from '../api/schemas/cors-origins.ts';
import {
  completeSecretArn,
  clusterArnsIn,
  databaseSecretArnsIn,
  databaseSetting,
  parseSecretSetting,
  secretArnsIn,
  type secretSetting,
} from '../api/schemas/project-settings.ts';
import { type FirstKeySetting, firstKeySetting, type SeedKeySetting, seedKeys } from '../api/schemas/seed-keys.ts';
import { type TraceSetting, traceSetting } from '../api/schemas/trace-setting.ts';
import { localhostDestination } from '../contract/private-destinations.ts';
import { type DeployedParts, deployedSettingOf } from './deployed-settings.ts';
import { type StoredSetting, storedSettingsOf } from './stored-setting.ts';
import { modelArnsNamed, modelSetting, moderationSetting, secretsNamed } from '../models/setting.ts';
import { type TriggerSetting, type WrittenTrigger, triggerSetting } from '../triggers/setting.ts';
import { webhookProviders } from '../webhooks/provider.ts';

export interface SettingProps {
  /** Complete origins of web pages that may call the API and open sockets, such as `https://app.example.com`. Default: none. */
  readonly corsOrigins?: z.input<typeof corsOrigins>;
  /**
   * Host names, addresses and networks (CIDR) that nodes and models may call although they are not on the public internet, for services in
   * your own VPC. Addresses of the link, of metadata services and of the function itself stay forbidden. Default: none.
   */
  readonly privateDestinations?: z.input<typeof privateDestinations>;
  /**
   * Whether nodes and models may call the machine that they run on. For the embedded cloud alone: in Lambda, the loopback address is the
   * runtime's own interface, so it needs `requireHttps: false`. Default: false.
   */
  readonly allowLocalhost?: boolean;
  /** The OpenTelemetry (OTLP) collector for traces of ended runs. Default: none. */
  readonly traces?: z.input<typeof traceSetting>;
  /** Project, environment and rate limit of the first admin key. Default: `default`, `production` and the default limit. */
  readonly firstKey?: z.input<typeof firstKeySetting>;
  /** Keys that a deployment registers, and revokes when you remove them from the list. Default: none. */
  readonly seedKeys?: z.input<typeof seedKeys>;
  /** Webhook providers and their targets, by the name in the path. Default: none. */
  readonly webhooks?: z.input<typeof webhookProviders>;
  /** Secrets that the nodes of a project may use, by name: `{ "<project>": { "<environment>" or "*": { "<name>": "<ARN>" } } }`. Default: none. */
  readonly secrets?: z.input<typeof secretSetting>;
  /** The models that lenses can name, with their providers. Default: none. */
  readonly models?: z.input<typeof modelSetting>;
  /** The moderation service for inputs and outputs of models. Default: none, and a node that requires moderation fails. */
  readonly moderation?: z.input<typeof moderationSetting>;
  /** Aurora databases that the queries of a project may use, by name: `{ "<project>": { "<environment>" or "*": { "<name>": { clusterArn, secretArn, database } } } }`. Default: none. */
  readonly databases?: z.input<typeof databaseSetting>;
  /**
   * The complete ARN of the secret from which the key of each run of the Workflow DevKit is derived. Its code then encrypts what it stores.
   * Default: none, and values are not encrypted.
   */
  readonly devKitSecretArn?: string;
  /** Environment variables for all deployed code; no secrets. Names that AWS or Stepwell use are refused. Default: none. */
  readonly codeVariables?: z.input<typeof codeVariables>;
  /**
   * What starts runs besides requests, by name: messages of a queue, events of EventBridge, objects of a bucket. `startOn` adds others.
   * Default: none.
   */
  readonly triggers?: z.input<typeof triggerSetting>;
  /** How people sign in to the console with an identity provider (OpenID Connect), and what each may do. Default: with links and keys only. */
  readonly console?: ConsoleSetting;
}

/** What the settings name in the account. Functions may use nothing else of its kind. */
export interface NamedResources {
  /** complete ARNs of the configured secrets */
  readonly seedSecretArns: readonly string[];
  readonly webhookSecretArns: readonly string[];
  readonly nodeSecretArns: readonly string[];
  /** secrets of model providers and of moderation */
  readonly modelSecretArns: readonly string[];
  readonly modelArns: readonly string[];
  /** undefined: moderation uses no guardrail */
  readonly guardrailArn: string | undefined;
  /** databases that queries may access with the Data API */
  readonly clusterArns: readonly string[];
  readonly databaseSecretArns: readonly string[];
  /** the secret of the client at the identity provider */
  readonly consoleSecretArns: readonly string[];
  /** the secret of the keys of DevKit runs; none: their values are not encrypted */
  readonly devKitSecretArns: readonly string[];
}

export interface ParsedSettings {
  /** origins of web pages, separated by commas */
  readonly corsOrigins: string;
  /** hosts and networks, separated by commas */
  readonly privateDestinations: string;
  /** undefined: no traces are exported */
  readonly traces: TraceSetting | undefined;
  readonly firstKey: FirstKeySetting;
  readonly seedKeys: readonly SeedKeySetting[];
  /** keys without a secret, whose rights the people of an identity provider have */
  readonly signInKeys: ParsedConsoleSetting['signInKeys'];
  readonly triggers: TriggerSetting;
  /** The triggers as the function reads them. `Triggers` adds them until the synthesis. */
  readonly writtenTriggers: WrittenTrigger[];
  /** the large settings */
  readonly stored: readonly StoredSetting[];
  readonly named: NamedResources;
}

/** @throws zod's error for a setting that does not match its schema */
export function parseSettings(
  scope: Construct,
  props: SettingProps & DeployedParts['props'],
  execution: DeployedParts['execution'],
  storage: DeployedParts['storage'],
): ParsedSettings {
  const keys = seedKeys.parse(props.seedKeys ?? []);
  const webhooks = webhookProviders.parse(props.webhooks ?? {});
  const secrets = parseSecretSetting(props.secrets ?? {});
  const models = modelSetting.parse(props.models ?? {});
  const moderation = moderationSetting.parse(props.moderation ?? { provider: 'none' });
  const databases = databaseSetting.parse(props.databases ?? {});
  const variables = codeVariables.parse(props.codeVariables ?? {});
  const triggers = triggerSetting.parse(props.triggers ?? {});
  const writtenTriggers: WrittenTrigger[] = [];
  const people = parseConsoleSetting(props.console, keys, execution.requireHttps);
  return {
    corsOrigins: corsOrigins.parse(props.corsOrigins ?? []).join(),
    privateDestinations: [
      ...privateDestinations.parse(props.privateDestinations ?? []),
      ...(props.allowLocalhost === true ? [localhostDestination] : []),
    ].join(),
    traces: props.traces === undefined ? undefined : traceSetting.parse(props.traces),
    firstKey: firstKeySetting.parse(props.firstKey ?? {}),
    seedKeys: keys,
    signInKeys: people.signInKeys,
    triggers,
    writtenTriggers,
    stored: storedSettingsOf(scope, {
      webhooks,
      secrets,
      models,
      moderation,
      databases,
      codeVariables: variables,
      console: people.setting,
      triggers: writtenTriggers,
      deployed: deployedSettingOf({ props, execution, storage }, switchesOf(props, moderation.provider), {
        corsOrigins: props.corsOrigins ?? [],
        models,
        secrets,
        databases,
        webhooks,
        triggers: writtenTriggers,
      }),
    }),
    named: {
      seedSecretArns: keys.flatMap(({ secretArn }) => (secretArn === undefined ? [] : [secretArn])),
      webhookSecretArns: Object.values(webhooks).map(({ secretArn }) => secretArn),
      nodeSecretArns: secretArnsIn(secrets),
      modelSecretArns: secretsNamed(models, moderation),
      modelArns: modelArnsNamed(models),
      guardrailArn: moderation.provider === 'bedrock-guardrail' ? moderation.guardrailArn : undefined,
      clusterArns: clusterArnsIn(databases),
      databaseSecretArns: databaseSecretArnsIn(databases),
      consoleSecretArns: people.secretArns,
      devKitSecretArns: props.devKitSecretArn === undefined ? [] : [completeSecretArn.parse(props.devKitSecretArn)],
    },
  };
}

/** Settings of which the page shows only whether they are set. */
const switchesOf = (props: SettingProps, moderation: string): Readonly<Record<string, boolean>> => ({
  allowLocalhost: props.allowLocalhost === true,
  console: props.console?.oidc !== undefined,
  devKitSecretArn: props.devKitSecretArn !== undefined,
  moderation: moderation !== 'none',
  privateDestinations: (props.privateDestinations ?? []).length > 0,
  traces: props.traces !== undefined,
});
