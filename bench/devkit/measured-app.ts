/** The measured app of the Workflow DevKit, built with its own tool at a version, as its users build theirs. */
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../bench-cloud.ts';
import type { CodeWorkflow } from '../code-workflows.ts';

/** Steps that do nothing, so that only the overhead of the platform is measured. */
export const measuredWorkflows = `export async function sequence(steps: number) {
  'use workflow';
  let sum = 0;
  for (let number = 0; number < steps; number += 1) sum += await one(number);
  return sum;
}

export async function together(steps: number) {
  'use workflow';
  const values = await Promise.all(Array.from({ length: steps }, (_, number) => one(number)));
  return values.length;
}

async function one(number: number) {
  'use step';
  return number;
}
`;

/** The version that this repository has installed, for the conformance suite. */
export const pinnedVersion = '5.0.0-beta.35';
const pinnedPackage = join(root, 'node_modules', 'workflow');

export interface MeasuredApp {
  readonly folder: string;
  readonly version: string;
  /** Runs a program in the app's folder. @returns what it printed */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
}

/**
 * Builds the app. Another version than the pinned one comes from the registry.
 * @param packages further packages that the app needs, with their versions
 * @throws if a package cannot be installed, or the build fails
 */
export async function buildMeasuredApp(folder: string, version: string, packages: readonly string[] = []): Promise<MeasuredApp> {
  mkdirSync(join(folder, 'workflows'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'measured', private: true, type: 'module' }));
  writeFileSync(join(folder, 'workflows', 'measured.ts'), measuredWorkflows);
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { ...process.env, PATH: path, npm_config_audit: 'false', npm_config_fund: 'false' };
  const run: MeasuredApp['run'] = async (program, args, variables = {}) =>
    (await promisify(execFile)(program, args, { cwd: folder, env: { ...env, ...variables }, maxBuffer: 16_777_216 })).stdout;
  if (version === pinnedVersion && packages.length === 0) {
    mkdirSync(join(folder, 'node_modules'), { recursive: true });
    symlinkSync(pinnedPackage, join(folder, 'node_modules', 'workflow'));
  } else {
    await run('npm', ['install', '--save-exact', `workflow@${version}`, ...packages]);
  }
  await run('node', ['node_modules/workflow/bin/run.js', 'build']);
  return { folder, version, run };
}

export type MeasuredName = 'sequence' | 'together';

export const measuredWorkflow = ({ folder }: MeasuredApp, name: MeasuredName, steps: number): CodeWorkflow => ({
  name: `workflow//./workflows/measured//${name}`,
  input: [steps],
  folder,
});
