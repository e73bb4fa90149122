/** Runs the CDK app in a process of its own, without the CDK's command line; the last result is used while its sources stand. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { digestSources } from './sources.ts';

/** The app said no: its own words, for the person at the terminal. */
class SynthesisFault extends Error {
  override readonly name = 'SynthesisFault';
}

const cdkShape = z.looseObject({ context: z.record(z.string(), z.unknown()).default({}) });

const context = (root: string): string => {
  const file = join(root, 'cdk.json');
  return JSON.stringify(existsSync(file) ? cdkShape.parse(JSON.parse(readFileSync(file, 'utf8'))).context : {});
};

/** The CDK's built-in rules of CloudFormation take half of a synthesis; every check and deploy asks them. Those of cdk-nag stay. */
const withoutBuiltInRules = { CDK_VALIDATION: 'false' };

function runApp(root: string, outdir: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['bin/stepwell.ts'], {
      cwd: root,
      env: { ...process.env, ...withoutBuiltInRules, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: context(root) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    const hear = (chunk: Buffer): void => void (said = `${said}${chunk.toString()}`.slice(-20_000));
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new SynthesisFault(`The app could not be synthesized:\n${said.trim()}`));
    });
  });
}

export interface Synthesis {
  /** the folder of the cloud assembly */
  readonly directory: string;
  readonly isFresh: boolean;
}

export async function synthesize(root: string, stateDirectory: string): Promise<Synthesis> {
  const directory = join(stateDirectory, 'cloud-assembly');
  const digestFile = join(stateDirectory, 'cloud-assembly.sha256');
  const digest = digestSources(root);
  if (existsSync(join(directory, 'manifest.json')) && existsSync(digestFile) && readFileSync(digestFile, 'utf8') === digest) {
    return { directory, isFresh: false };
  }
  const fresh = `${directory}.new`;
  rmSync(fresh, { recursive: true, force: true });
  await runApp(root, fresh);
  // first the old digest, last the new one: a kill in between costs a synthesis and never pairs a digest with another's result
  rmSync(digestFile, { force: true });
  rmSync(directory, { recursive: true, force: true });
  renameSync(fresh, directory);
  writeFileSync(digestFile, digest);
  return { directory, isFresh: true };
}
