/** `stepwell deploy`: packs or builds an artifact, uploads it, and activates its deployment. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { type Artifact, packDirectory, readArtifact } from './artifact.ts';
import { compareDeployments, formatChange, readActiveDeploymentId, workflowsIn } from './compare-deployments.ts';
import { type Action, CliError, type CommandContext, exitCodes, type Outcome, pause, usageError } from '../command.ts';
import { retryOutcome } from '../../base/retry.ts';
import { quantity } from '../format.ts';
import { appName, deploymentId, file, parseOptions } from '../parse-command-line.ts';
import { ComputeClientError, type StepwellClient } from '../../client/index.ts';
import type { AppName } from '../../engine/ids.ts';
import { defaultApp } from '../../ports/deployments.ts';
import { isDevKitApp, packDevKitApp } from '../project/devkit-app.ts';

const deployOptions = z.object({
  artifact: file.optional(),
  manifest: file.optional(),
  deploymentId: deploymentId.optional(),
  app: appName.optional(),
  activate: z.boolean().default(true),
  yes: z.boolean().default(false),
});

export const deploy: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, deployOptions);
  const { artifact, profile } = await readArtifactSource(context, commandLine.args[0], options);
  const { activate: shouldActivate, yes: allowsRemoval } = options;
  return deployArtifact(context, await context.client({ profile }), artifact, { shouldActivate, allowsRemoval });
};

interface ArtifactSource {
  readonly artifact: Artifact;
  /** the project's profile; --profile and --url precede it */
  readonly profile?: string | undefined;
}

async function readArtifactSource(
  context: CommandContext,
  directory: string | undefined,
  { artifact, manifest, deploymentId: requestedId, app }: z.output<typeof deployOptions>,
): Promise<ArtifactSource> {
  const { cwd } = context;
  if (directory !== undefined) {
    if (artifact !== undefined || manifest !== undefined) throw usageError('A folder and --artifact exclude each other.');
    if (isDevKitFolder(cwd, directory)) return packDevKit(context, directory, requestedId, app);
    return { artifact: await packDirectory(cwd, directory, { deploymentId: requestedId, app }) };
  }
  if (artifact === undefined && manifest === undefined) {
    if (isDevKitFolder(cwd, '.')) return packDevKit(context, '.', requestedId, app);
    return buildCurrentProject(context, requestedId, app);
  }
  if (artifact === undefined || manifest === undefined) throw usageError('--artifact and --manifest require each other.');
  if (requestedId !== undefined || app !== undefined)
    throw usageError('--deployment-id and --app are only for a folder: an archive has the id and the app of its manifest.');
  return { artifact: readArtifact(cwd, artifact, manifest) };
}

/** A folder with a manifest of its own has bundles of another origin. */
const isDevKitFolder = (cwd: string, directory: string): boolean =>
  isDevKitApp(join(cwd, directory)) && !existsSync(join(cwd, directory, 'manifest.json'));

/** An app of the Workflow DevKit needs no configuration of Stepwell. With one, its app and its profile count. */
async function packDevKit(
  context: CommandContext,
  directory: string,
  deploymentId: string | undefined,
  requestedApp: AppName | undefined,
): Promise<ArtifactSource> {
  const { findProject, readPackageName } = await import('../project/project.ts');
  const root = resolve(context.cwd, directory);
  const project = await findProject({ ...context, cwd: root });
  const app = requestedApp ?? project?.app ?? readPackageName(root) ?? defaultApp;
  const artifact = await packDevKitApp(root, { deploymentId, app, env: context.env });
  const { sdkVersion, specVersion } = artifact.manifest.devkit ?? {};
  context.log(`Workflow DevKit ${sdkVersion}, spec version ${specVersion}`);
  return { artifact, profile: project?.profile };
}

/** Imports esbuild only when a project is built. */
async function buildCurrentProject(
  context: CommandContext,
  requestedId: string | undefined,
  app: AppName | undefined,
): Promise<ArtifactSource> {
  const [{ readProject }, { buildProject }] = await Promise.all([
    import('../project/project.ts'),
    import('../project/build-project.ts'),
  ]);
  const project = await readProject(context);
  return { artifact: await buildProject(context, project, requestedId, app), profile: project.profile };
}

/**
 * Sends a change of the active deployment. If it would remove workflows in use, asks first. `allowsRemoval` is the option --yes.
 * @throws CliError if the answer is no, or the terminal is not interactive
 */
export async function confirmingRemoval<Answer>(
  { confirm }: Pick<CommandContext, 'confirm'>,
  allowsRemoval: boolean,
  change: (body: { readonly allowRemoval: boolean }) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await change({ allowRemoval: allowsRemoval });
  } catch (error) {
    if (!(error instanceof ComputeClientError) || error.code !== 'workflows_in_use') throw error;
    const uses = (error.errors ?? []).map(({ pointer, message }) => `  ${pointer.replace('workflows/', '')}: ${message}`);
    const question = [error.message, ...uses, 'Remove them all the same?'].join('\n');
    if (!(await confirm(question))) throw new CliError('declined', 'Nothing was activated.');
    return change({ allowRemoval: true });
  }
}

const noChange = { added: [], removed: [], changed: [] };

export async function deployArtifact(
  context: CommandContext,
  client: StepwellClient,
  { manifest, archive }: Artifact,
  { shouldActivate, allowsRemoval }: { readonly shouldActivate: boolean; readonly allowsRemoval: boolean },
): Promise<Outcome> {
  const { signal } = context;
  const id = manifest.deploymentId;
  context.log(`${id}: ${quantity(manifest.files.length, 'file')}, ${archive.byteLength} bytes packed`);
  const created = await client.createDeployment(manifest, { signal });
  if (created.upload === undefined) context.log('The artifact is uploaded already.');
  else await upload(context, created.upload, archive);
  if (!shouldActivate) {
    await client.verifyDeployment(id, { signal });
    const change = await compareDeployments(client, context, await readActiveDeploymentId(client, context, manifest.app), id);
    const text = [
      `${id} is verified and not active. Activating it would make these changes:`,
      ...formatChange(context, change, manifest),
    ];
    const data = { deploymentId: id, status: created.status, previousDeploymentId: change.previousDeploymentId };
    return { data: { ...data, workflows: workflowsIn(change) }, text: text.join('\n') };
  }
  const activeDeploymentId = await readActiveDeploymentId(client, context, manifest.app);
  const activated = await confirmingRemoval(context, allowsRemoval, (body) => client.activateDeployment(id, body, { signal }));
  if (activeDeploymentId === id) return { data: { ...activated, workflows: noChange }, text: `${id} is active already.` };
  const change = await compareDeployments(client, context, activated.previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: formatChange(context, change, manifest).join('\n') };
}

export interface Upload {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

type UploadOutcome =
  | { readonly kind: 'uploaded' }
  | { readonly kind: 'refused'; readonly status: number; readonly errorCode: string }
  | { readonly kind: 'no_response' };

export async function upload(
  context: Pick<CommandContext, 'fetch' | 'sleep' | 'signal'>,
  target: Upload,
  archive: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const outcome = await retryOutcome(
    () => uploadOnce(context, target, archive),
    {
      attempts: 3,
      backoff: { baseMs: 500 },
      isRetryable: (each) =>
        each.kind === 'no_response' || (each.kind === 'refused' && (each.status >= 500 || each.status === 429)),
    },
    { sleep: (ms) => pause(context, ms) },
  );
  if (outcome.kind === 'no_response')
    throw new CliError('unreachable', 'The upload got no response. Run the deploy command again.', exitCodes.unreachable);
  if (outcome.kind === 'refused')
    throw new CliError(
      'upload_refused',
      `The upload was refused: ${[outcome.status, outcome.errorCode].join(' ').trim()}. Run the deploy command again.`,
    );
}

async function uploadOnce(
  { fetch, signal }: Pick<CommandContext, 'fetch' | 'signal'>,
  { method, url, headers }: Upload,
  archive: Uint8Array<ArrayBuffer>,
): Promise<UploadOutcome> {
  try {
    const response = await fetch(url, { method, headers: { ...headers }, body: archive, signal, redirect: 'manual' });
    if (response.ok) return { kind: 'uploaded' };
    const errorCode = (await response.text()).match(/<Code>(\w+)<\/Code>/)?.[1] ?? '';
    return { kind: 'refused', status: response.status, errorCode };
  } catch {
    signal.throwIfAborted();
    return { kind: 'no_response' };
  }
}
