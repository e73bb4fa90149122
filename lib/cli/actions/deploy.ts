/** `stepwell deploy`: packs or builds an artifact, uploads it, and activates its deployment. */
import * as z from 'zod';
import { type Artifact, packDirectory, readArtifact } from './artifact.ts';
import { compareDeployments, formatChange, readActiveDeploymentId } from './compare-deployments.ts';
import { workflowsIn } from './deployments.ts';
import { type Action, CliError, type CommandContext, exitCodes, type Outcome, pause, usageError } from '../command.ts';
import { retryOutcome } from '../../base/retry.ts';
import { quantity } from '../format.ts';
import { deploymentId, file, parseOptions } from '../parse-command-line.ts';
import type { StepwellClient } from '../../client/index.ts';

const deployOptions = z.object({
  artifact: file.optional(),
  manifest: file.optional(),
  deploymentId: deploymentId.optional(),
  activate: z.boolean().default(true),
});

export const deploy: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, deployOptions);
  const { artifact, profile } = await readArtifactSource(context, commandLine.args[0], options);
  return deployArtifact(context, await context.client({ profile }), artifact, { shouldActivate: options.activate });
};

interface ArtifactSource {
  readonly artifact: Artifact;
  /** the project's profile; --profile and --url precede it */
  readonly profile?: string | undefined;
}

async function readArtifactSource(
  context: CommandContext,
  directory: string | undefined,
  { artifact, manifest, deploymentId: requestedId }: z.output<typeof deployOptions>,
): Promise<ArtifactSource> {
  const { cwd } = context;
  if (directory !== undefined) {
    if (artifact !== undefined || manifest !== undefined) throw usageError('A folder and --artifact exclude each other.');
    return { artifact: await packDirectory(cwd, directory, requestedId) };
  }
  if (artifact === undefined && manifest === undefined) return buildCurrentProject(context, requestedId);
  if (artifact === undefined || manifest === undefined) throw usageError('--artifact and --manifest require each other.');
  if (requestedId !== undefined) throw usageError('--deployment-id is only for a folder: an archive has the id of its manifest.');
  return { artifact: readArtifact(cwd, artifact, manifest) };
}

/** Imports esbuild only when a project is built. */
async function buildCurrentProject(context: CommandContext, requestedId: string | undefined): Promise<ArtifactSource> {
  const [{ readProject }, { buildProject }] = await Promise.all([
    import('../project/project.ts'),
    import('../project/build-project.ts'),
  ]);
  const project = await readProject(context);
  return { artifact: await buildProject(context, project, requestedId), profile: project.profile };
}

const noChange = { added: [], removed: [], changed: [] };

export async function deployArtifact(
  context: CommandContext,
  client: StepwellClient,
  { manifest, archive }: Artifact,
  { shouldActivate }: { readonly shouldActivate: boolean },
): Promise<Outcome> {
  const { signal } = context;
  const id = manifest.deploymentId;
  context.log(`${id}: ${quantity(manifest.files.length, 'file')}, ${archive.byteLength} bytes packed`);
  const created = await client.createDeployment(manifest, { signal });
  if (created.upload === undefined) context.log('The artifact is uploaded already.');
  else await upload(context, created.upload, archive);
  if (!shouldActivate) {
    await client.verifyDeployment(id, { signal });
    const change = await compareDeployments(client, context, await readActiveDeploymentId(client, context), id);
    const text = [
      `${id} is verified and not active. Activating it would make these changes:`,
      ...formatChange(context, change, id),
    ];
    const data = { deploymentId: id, status: created.status, previousDeploymentId: change.previousDeploymentId };
    return { data: { ...data, workflows: workflowsIn(change) }, text: text.join('\n') };
  }
  const activeDeploymentId = await readActiveDeploymentId(client, context);
  const activated = await client.activateDeployment(id, { signal });
  if (activeDeploymentId === id) return { data: { ...activated, workflows: noChange }, text: `${id} is active already.` };
  const change = await compareDeployments(client, context, activated.previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: formatChange(context, change, id).join('\n') };
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
