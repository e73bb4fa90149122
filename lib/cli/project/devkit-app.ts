/** Packs an app of the Workflow DevKit: the bundles that its own builder wrote, and what they are built with. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import * as z from 'zod';
import { createDeploymentBody } from '../../api/schemas/deployments.ts';
import { packArchive } from '../../artifact/pack-archive.ts';
import { defined } from '../../base/defined.ts';
import type { AppName } from '../../engine/ids.ts';
import { devKitBundlePaths, devKitFolder, devKitHostPath } from '../../ports/bundles.ts';
import type { DevKitBuild } from '../../ports/deployments.ts';
import { findPackage, findSpecVersion } from '../../world/spec-version.ts';
import { type Artifact, contentId, validateManifest } from '../actions/artifact.ts';
import { CliError } from '../command.ts';
import { messageOf } from '../describe-error.ts';
import { bundleHost } from './devkit-host.ts';

const manifestPath = `${devKitFolder}/manifest.json`;

/** Whether the builder of the Workflow DevKit has written its bundles to this folder. */
export const isDevKitApp = (root: string): boolean => existsSync(join(root, manifestPath));

/** By source file and function. The builder adds graphs and classes, which are of no use here. */
const builderManifest = z.object({
  workflows: z.record(z.string(), z.record(z.string(), z.object({ workflowId: z.string() }))),
  steps: z.record(z.string(), z.record(z.string(), z.object({ stepId: z.string() }))),
});
const packageShape = z.object({ version: z.string() });

/** Steps of the app. Those of the SDK itself are in every app. */
const ownStep = /^step\/\/\.\/(?!node_modules\/)[\w./@:-]{1,240}$/;

export interface DevKitAppOptions {
  readonly deploymentId: string | undefined;
  readonly app: AppName;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** @throws CliError */
export async function packDevKitApp(root: string, { deploymentId, app, env }: DevKitAppOptions): Promise<Artifact> {
  const { workflows, steps } = readBuilderManifest(root);
  const build = readBuild(root, env);
  const needed: readonly string[] = [manifestPath, ...Object.values(devKitBundlePaths[build.format])];
  const files = new Map(needed.map((path) => [path, readBundle(root, path)]));
  const { archive, ...packed } = await packArchive(files.set(devKitHostPath, await bundleHost(resolve(root))));
  const manifest = {
    deploymentId: deploymentId ?? contentId(app, packed.artifact.sha256, build.queueNamespace),
    specVersion: 1,
    app,
    runtime: 'devkit',
    workflows: named(valuesOf(workflows).map(({ workflowId }) => workflowId)),
    steps: named(valuesOf(steps).flatMap(({ stepId }) => (ownStep.test(stepId) ? [stepId] : []))),
    devkit: build,
    ...packed,
  };
  return {
    manifest: validateManifest(createDeploymentBody, manifest, join(root, manifestPath)),
    archive: new Uint8Array(archive),
  };
}

const valuesOf = <Value>(byFile: Readonly<Record<string, Readonly<Record<string, Value>>>>): readonly Value[] =>
  Object.values(byFile).flatMap((byName) => Object.values(byName));
const named = (names: readonly string[]): readonly { readonly name: string }[] =>
  [...new Set(names)].toSorted().map((name) => ({ name }));

function readBuilderManifest(root: string): z.output<typeof builderManifest> {
  try {
    return builderManifest.parse(JSON.parse(readFileSync(join(root, manifestPath), 'utf8')));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
    throw notBuilt(`${join(root, manifestPath)} is not a manifest of the Workflow DevKit: ${reason}`);
  }
}

function readBuild(root: string, env: DevKitAppOptions['env']): DevKitBuild {
  const format = (['module', 'commonjs'] as const).find((each) => existsSync(join(root, devKitBundlePaths[each].workflow)));
  if (format === undefined) {
    const found = readdirSync(resolve(root, devKitFolder)).join(', ');
    throw notBuilt(`${join(root, devKitFolder)} has no ${basename(devKitBundlePaths.module.workflow)}, only ${found}`);
  }
  const sdk = findPackage(resolve(root), ['workflow']);
  if (sdk === undefined) throw new CliError('build_failed', `The package workflow is not installed in ${root}: run npm install.`);
  const { version: sdkVersion } = packageShape.parse(JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8')));
  try {
    return defined({
      sdkVersion,
      specVersion: findSpecVersion(resolve(root), env),
      nodeVersion: process.versions.node,
      format,
      queueNamespace: env['WORKFLOW_QUEUE_NAMESPACE'] || undefined,
    });
  } catch (error) {
    throw new CliError('build_failed', `${messageOf(error)}.`);
  }
}

function readBundle(root: string, path: string): Uint8Array {
  try {
    return readFileSync(join(root, path));
  } catch (error) {
    throw notBuilt(`${join(root, path)} cannot be read: ${messageOf(error)}`);
  }
}

const notBuilt = (reason: string): CliError => new CliError('build_failed', `${reason}. Run npx workflow build again.`);
