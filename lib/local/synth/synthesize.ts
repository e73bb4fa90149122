/** Runs the CDK app in a separate process, without the CDK CLI. Reuses the last result while its sources are unchanged. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { CdkApp } from './cdk-app.ts';
import { localContext } from './local-context.ts';
import { createHash } from 'node:crypto';

/** The app could not be synthesized. The message contains its output for the terminal. */
class SynthesisError extends Error {
  override readonly name = 'SynthesisError';
}

/** The CDK's built-in CloudFormation rules take half of a synthesis, and `check` and `deploy` run them. cdk-nag's rules stay. */
const withoutBuiltInRules = { CDK_VALIDATION: 'false' };

function runApp({ program, cwd }: CdkApp, outdir: string, context: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program], {
      cwd,
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
  app: CdkApp,
  stateDirectory: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Synthesis> {
  const directory = join(stateDirectory, 'cloud-assembly');
  const digestFile = join(stateDirectory, 'cloud-assembly.sha256');
  const context = localContext(app.contextFiles, stateDirectory, settings);
  const digest = `${digestSources(app.cwd, app.sources)} ${context}`;
  if (existsSync(join(directory, 'manifest.json')) && existsSync(digestFile) && readFileSync(digestFile, 'utf8') === digest) {
    return { directory, isFresh: false };
  }
  const temporaryDirectory = `${directory}.new`;
  rmSync(temporaryDirectory, { recursive: true, force: true });
  await runApp(app, temporaryDirectory, context);
  // Delete the old digest first and write the new one last: after a kill in between, the next start synthesizes again.
  rmSync(digestFile, { force: true });
  rmSync(directory, { recursive: true, force: true });
  renameSync(temporaryDirectory, directory);
  writeFileSync(digestFile, digest);
  return { directory, isFresh: true };
}

function files(path: string): readonly string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (!stat.isDirectory()) return [path];
  return readdirSync(path)
    .toSorted()
    .flatMap((name) => files(join(path, name)));
}

/** @param paths absolute; their names relative to the root are part of the digest */
export function digestSources(root: string, paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of files(path)) {
      const content = readFileSync(file);
      hash.update(`${relative(root, file)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex');
}
