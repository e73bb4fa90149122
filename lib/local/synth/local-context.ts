/** The context of the CDK app on a laptop: that of the checkout or the project (cdk.json), overridden by the settings of this machine. */
import { existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import { arns } from '../aws-environment.ts';
import { demoProviders, localProject } from '../local-credentials.ts';
import { readOwnerSecrets } from '../secret-store.ts';

const cdkShape = z.looseObject({ context: z.record(z.string(), z.unknown()).default({}) });

/**
 * The product's settings that differ on a laptop. The API is served over http, and the functions must know it. The first key
 * belongs to this machine. Keys and databases of an installation are not used.
 */
const localSettings = {
  'stepwell:requireHttps': false,
  'stepwell:firstKey': { ...localProject, rateLimitPerMinute: 'none' },
  'stepwell:seedKeys': [],
  // The embedded cloud does not implement the Data API, so database settings are removed.
  'stepwell:databases': {},
};

const webhooksSetting = 'stepwell:webhooks';
const secretsSetting = 'stepwell:secrets';
const webhooksShape = z.record(z.string(), z.looseObject({})).catch({});

/** The checkout's own webhook providers, assigned to this machine's project, and a demo provider. */
const localWebhooks = (configured: unknown): object => ({
  ...Object.fromEntries(
    Object.entries(webhooksShape.parse(configured ?? {})).map(([name, provider]) => [name, { ...provider, ...localProject }]),
  ),
  ...demoProviders,
});

const secretArnsByName = z.record(z.string(), z.string());
const settingShape = z.record(z.string(), z.record(z.string(), secretArnsByName)).catch({});
/** A name that `{{secret:name}}` can contain; the file may also contain ARNs and other names. */
const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/**
 * Secrets that nodes may use on this machine: those of the checkout's setting, and those in the owner's `secrets.json`.
 * In the format of the setting `secrets`, for this machine's one project and environment. A name of the setting keeps the
 * ARN of the setting, so `secrets.json` may give its text by that ARN.
 */
function localSecretsSetting(directory: string, configured: unknown): Readonly<Record<string, unknown>> {
  const fileSecretNames = Object.keys(readOwnerSecrets(directory)).filter((name) => secretNamePattern.test(name));
  const configuredSecrets = Object.values(settingShape.parse(configured ?? {})).flatMap((byEnvironment) =>
    Object.values(byEnvironment),
  );
  const localArns = Object.assign(
    Object.fromEntries(fileSecretNames.map((name) => [name, arns.secret(name)])),
    ...configuredSecrets,
  );
  return { default: { '*': localArns } };
}

const codeSetting = 'stepwell:codeRunsIn';

/** External workers may connect too. If the checkout's setting is `worker`, only they run code. */
const localCodeRuns = (configured: unknown): object => ({ [codeSetting]: configured === 'worker' ? 'worker' : 'both' });

const modelsSetting = 'stepwell:models';
const moderationSetting = 'stepwell:moderation';
const modelsShape = z.record(z.string(), z.unknown()).catch({});

/** The checkout's own models, and the deterministic one for lenses that name no provider; the same for moderation. */
const localModels = (configured: Readonly<Record<string, unknown>>): object => ({
  [modelsSetting]: { default: { provider: 'deterministic' }, ...modelsShape.parse(configured[modelsSetting] ?? {}) },
  [moderationSetting]: configured[moderationSetting] ?? { provider: 'deterministic', words: ['forbidden'] },
});

const contextIn = (file: string): Readonly<Record<string, unknown>> =>
  existsSync(file) ? cdkShape.parse(JSON.parse(readFileSync(file, 'utf8'))).context : {};

/** @returns the context as JSON */
export const localContext = (contextFiles: readonly string[], stateDirectory: string, settings: object): string => {
  const configured: Readonly<Record<string, unknown>> = Object.assign({}, ...contextFiles.map(contextIn));
  const webhooks = { [webhooksSetting]: localWebhooks(configured[webhooksSetting]) };
  const secrets = { [secretsSetting]: localSecretsSetting(stateDirectory, configured[secretsSetting]) };
  const code = localCodeRuns(configured[codeSetting]);
  return JSON.stringify({
    ...configured,
    ...localSettings,
    ...webhooks,
    ...secrets,
    ...localModels(configured),
    ...code,
    ...settings,
  });
};
