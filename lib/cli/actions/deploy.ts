/** `stepwell deploy`: packs or builds an artifact, uploads it, and activates its deployment. */
import * as z from 'zod';
import { type Artifact, packDirectory, readArtifact } from './artifact.ts';
import { compareDeployments, formatChange, readActiveDeploymentId } from './compare-deployments.ts';
import { workflowsIn } from './deployments.ts';
import { type Action, CliError, type CommandContext, exitCodes, type Outcome, usageError } from '../command.ts';
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

const maxAttempts = 3;
const firstPauseMs = 500;

export async function upload(
  context: Pick<CommandContext, 'fetch' | 'sleep' | 'signal'>,
  { method, url, headers }: Upload,
  archive: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (let previousAttempts = 0; ; previousAttempts += 1) {
    const isLastAttempt = previousAttempts === maxAttempts - 1;
    try {
      const response = await context.fetch(url, {
        method,
        headers: { ...headers },
        body: archive,
        signal: context.signal,
        redirect: 'manual',
      });
      if (response.ok) return;
      const errorCode = (await response.text()).match(/<Code>(\w+)<\/Code>/)?.[1] ?? '';
      const isTransient = response.status >= 500 || response.status === 429;
      if (!isTransient || isLastAttempt)
        throw new CliError(
          'upload_refused',
          `The upload was refused: ${[response.status, errorCode].join(' ').trim()}. Run the deploy command again.`,
        );
    } catch (error) {
      context.signal.throwIfAborted();
      if (error instanceof CliError) throw error;
      if (isLastAttempt)
        throw new CliError('unreachable', 'The upload got no response. Run the deploy command again.', exitCodes.unreachable);
    }
    await context.sleep(firstPauseMs * 2 ** previousAttempts, context.signal);
    context.signal.throwIfAborted();
  }
}
