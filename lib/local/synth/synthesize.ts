/** Runs the CDK app in a process of its own, without the CDK's command line; the last result is used while its sources stand. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { demoProviders } from '../demo-webhook.ts';
import { localSecretsSetting } from '../local-secrets-setting.ts';
import { digestSources } from './sources.ts';

/** The app said no: its own words, for the person at the terminal. */
class SynthesisError extends Error {
  override readonly name = 'SynthesisError';
}

const cdkShape = z.looseObject({ context: z.record(z.string(), z.unknown()).default({}) });

/**
 * Settings of the product that differ on a laptop. Its API is served over http, and says so to the functions. Its first key is
 * this machine's own, and the keys and databases of an installation are not wanted here.
 */
const localSettings = {
  'stepwell:requireHttps': false,
  'stepwell:firstKey': { projectId: 'default', environment: 'local', rateLimitPerMinute: 'none' },
  'stepwell:seedKeys': [],
  // The embedded cloud has no Data API, so nothing here leads to it.
  'stepwell:databases': {},
};

const webhooksSetting = 'stepwell:webhooks';
const secretsSetting = 'stepwell:secrets';
const webhooksShape = z.record(z.string(), z.looseObject({})).catch({});

/** The checkout's own providers, whose runs are this machine's, and one to try them out with. */
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

/** Workers may come here too, and where the checkout says so they are alone. */
const localCodeRuns = (configured: unknown): object => ({ [codeSetting]: configured === 'worker' ? 'worker' : 'both' });

const modelsSetting = 'stepwell:models';
const moderationSetting = 'stepwell:moderation';
const modelsShape = z.record(z.string(), z.unknown()).catch({});

/** The checkout's own models, and one that needs no provider for lenses that name none; the same for moderation. */
const localModels = (configured: Readonly<Record<string, unknown>>): object => ({
  [modelsSetting]: { default: { provider: 'deterministic' }, ...modelsShape.parse(configured[modelsSetting] ?? {}) },
  [moderationSetting]: configured[moderationSetting] ?? { provider: 'deterministic', words: ['forbidden'] },
});

/** What the app is told: the checkout's own context, and over it what is so on this machine. */
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

/** The CDK's built-in rules of CloudFormation take half of a synthesis; every check and deploy asks them. Those of cdk-nag stay. */
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
      else reject(new SynthesisError(`The app could not be synthesized:\n${output.trim()}`));
    });
  });
}

export interface Synthesis {
  /** the folder of the cloud assembly */
  readonly directory: string;
  readonly isFresh: boolean;
}

/** @param settings of the context (`stepwell:…`), in place of those of this machine */
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
  // first the old digest, last the new one: a kill in between costs a synthesis and never pairs a digest with another's result
  rmSync(digestFile, { force: true });
  rmSync(directory, { recursive: true, force: true });
  renameSync(temporaryDirectory, directory);
  writeFileSync(digestFile, digest);
  return { directory, isFresh: true };
}
