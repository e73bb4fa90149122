import * as z from 'zod';
import { type Action, type CommandContext, usageError } from '../command.ts';
import { deploymentId, file, parseOptions } from '../parse-command-line.ts';
import { type Artifact, packDirectory, readArtifact } from './artifact.ts';
import { deployArtifact } from './deploy-artifact.ts';

const shape = z.object({
  artifact: file.optional(),
  manifest: file.optional(),
  deploymentId: deploymentId.optional(),
  activate: z.boolean().default(true),
});

export const deploy: Action = async (commandLine, context) => {
  const options = parseOptions(commandLine, shape);
  const { artifact, profile } = await readArtifactSource(context, commandLine.args[0], options);
  return deployArtifact(context, await context.client({ profile }), artifact, { shouldActivate: options.activate });
};

interface ArtifactSource {
  readonly artifact: Artifact;
  /** where it goes, unless told otherwise */
  readonly profile?: string | undefined;
}

async function readArtifactSource(
  context: CommandContext,
  directory: string | undefined,
  { artifact, manifest, deploymentId: requestedId }: z.output<typeof shape>,
): Promise<ArtifactSource> {
  const { cwd } = context;
  if (directory !== undefined) {
    if (artifact !== undefined || manifest !== undefined)
      throw usageError('A folder, and --artifact with --manifest, exclude each other.');
    return { artifact: await packDirectory(cwd, directory, requestedId) };
  }
  if (artifact === undefined && manifest === undefined) return buildCurrentProject(context, requestedId);
  if (artifact === undefined || manifest === undefined) throw usageError('--artifact and --manifest belong together.');
  if (requestedId !== undefined) throw usageError('--deployment-id is for a folder: an archive has the id of its manifest.');
  return { artifact: readArtifact(cwd, artifact, manifest) };
}

/** esbuild is loaded for those alone who build. */
async function buildCurrentProject(context: CommandContext, requestedId: string | undefined): Promise<ArtifactSource> {
  const [{ readProject }, { buildProject }] = await Promise.all([
    import('../project/project.ts'),
    import('../project/build-project.ts'),
  ]);
  const project = await readProject(context);
  return { artifact: await buildProject(context, project, requestedId), profile: project.profile };
}
