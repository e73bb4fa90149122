import * as z from 'zod';
import { type Action, type Shell, usageFault } from '../command.ts';
import { deploymentId, file, optionsIn } from '../given.ts';
import { type Artifact, packedFolder, readArtifact } from './artifact.ts';
import { ship } from './ship.ts';

const shape = z.object({
  artifact: file.optional(),
  manifest: file.optional(),
  deploymentId: deploymentId.optional(),
  activate: z.boolean().default(true),
});

export const deploy: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const { artifact, profile } = await artifactIn(shell, given.args[0], options);
  return ship(shell, await shell.client({ profile }), artifact, { activates: options.activate });
};

interface Found {
  readonly artifact: Artifact;
  /** where it goes, unless told otherwise */
  readonly profile?: string | undefined;
}

async function artifactIn(
  shell: Shell,
  folder: string | undefined,
  { artifact, manifest, deploymentId: wantedId }: z.output<typeof shape>,
): Promise<Found> {
  const { cwd } = shell;
  if (folder !== undefined) {
    if (artifact !== undefined || manifest !== undefined)
      throw usageFault('A folder, and --artifact with --manifest, exclude each other.');
    return { artifact: await packedFolder(cwd, folder, wantedId) };
  }
  if (artifact === undefined && manifest === undefined) return builtProject(shell, wantedId);
  if (artifact === undefined || manifest === undefined) throw usageFault('--artifact and --manifest belong together.');
  if (wantedId !== undefined) throw usageFault('--deployment-id is for a folder: an archive has the id of its manifest.');
  return { artifact: readArtifact(cwd, artifact, manifest) };
}

/** esbuild is loaded for those alone who build. */
async function builtProject(shell: Shell, wantedId: string | undefined): Promise<Found> {
  const [{ projectOf }, { buildProject }] = await Promise.all([
    import('../project/project.ts'),
    import('../project/build-project.ts'),
  ]);
  const project = await projectOf(shell);
  return { artifact: await buildProject(shell, project, wantedId), profile: project.profile };
}
