/** Runs the CDK app in a separate process, without the CDK CLI. Reuses the last result while its sources are unchanged. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { demoProviders } from '../demo-webhook.ts';
import { localSecretsSetting } from '../local-secrets-setting.ts';
import { digestSources } from './sources.ts';

/** The app could not be synthesized. The message contains its output for the terminal. */
class SynthesisError extends Error {
  override readonly name = 'SynthesisError';
}

const cdkShape = z.looseObject({ context: z.record(z.string(), z.unknown()).default({}) });

/**
 * The product's settings that differ on a laptop. The API is served over http, and the functions must know it. The first key
 * belongs to this machine. Keys and databases of an installation are not used.
 */
const localSettings = {
  'stepwell:requireHttps': false,
  'stepwell:firstKey': { projectId: 'default', environment: 'local', rateLimitPerMinute: 'none' },
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
    Object.entries(webhooksShape.parse(configured ?? {})).map(([name, provider]) => [
      name,
      { ...provider, projectId: 'default', environment: 'local' },
    ]),
  ),
  ...demoProviders,
});

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

/** The context of the app: the checkout's own, overridden by the settings of this machine. */
const contextOf = (root: string, stateDirectory: string, settings: object): string => {
  const file = join(root, 'cdk.json');
  const configured = existsSync(file) ? cdkShape.parse(JSON.parse(readFileSync(file, 'utf8'))).context : {};
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

/** The CDK's built-in CloudFormation rules take half of a synthesis, and `check` and `deploy` run them. cdk-nag's rules stay. */
const withoutBuiltInRules = { CDK_VALIDATION: 'false' };

function runApp(root: string, outdir: string, context: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['bin/stepwell.ts'], {
      cwd: root,
      env: { ...process.env, ...withoutBuiltInRules, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: context },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const collectOutput = (chunk: Buffer): void => void (output = `${output}${chunk.toString()}`.slice(-20_000));
    child.stdout.on('data', collectOutput);
    child.stderr.on('data', collectOutput);
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new SynthesisError(`The app could not be synthesized. Its output:\n${output.trim()}`));
    });
  });
}

export interface Synthesis {
  /** the directory of the cloud assembly */
  readonly directory: string;
  readonly isFresh: boolean;
}

/** @param settings context values (`stepwell:…`) that override those of this machine */
export async function synthesize(
  root: string,
  stateDirectory: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Synthesis> {
  const directory = join(stateDirectory, 'cloud-assembly');
  const digestFile = join(stateDirectory, 'cloud-assembly.sha256');
  const context = contextOf(root, stateDirectory, settings);
  const digest = `${digestSources(root)} ${context}`;
  if (existsSync(join(directory, 'manifest.json')) && existsSync(digestFile) && readFileSync(digestFile, 'utf8') === digest) {
    return { directory, isFresh: false };
  }
  const temporaryDirectory = `${directory}.new`;
  rmSync(temporaryDirectory, { recursive: true, force: true });
  await runApp(root, temporaryDirectory, context);
  // Delete the old digest first and write the new one last: after a kill in between, the next start synthesizes again.
  rmSync(digestFile, { force: true });
  rmSync(directory, { recursive: true, force: true });
  renameSync(temporaryDirectory, directory);
  writeFileSync(digestFile, digest);
  return { directory, isFresh: true };
}
