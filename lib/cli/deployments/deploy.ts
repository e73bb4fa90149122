import * as z from 'zod';
import { type Action, usageFault } from '../command.ts';
import { deploymentId, file, optionsIn } from '../given.ts';
import { many } from '../words.ts';
import { workflowsIn } from './activate.ts';
import { type Artifact, packedFolder, readArtifact } from './artifact.ts';
import { activeId, changeBetween, changeLines } from './change.ts';
import { upload } from './upload.ts';

const shape = z.object({
  artifact: file.optional(),
  manifest: file.optional(),
  deploymentId: deploymentId.optional(),
  activate: z.boolean().default(true),
});

export const deploy: Action = async (given, shell) => {
  const options = optionsIn(given, shape);
  const { manifest, archive } = await artifactIn(shell.cwd, given.args[0], options);
  const { signal } = shell;
  const id = manifest.deploymentId;
  const client = await shell.client();
  shell.note(`${id}: ${many(manifest.files.length, 'file')}, ${archive.byteLength} bytes packed`);
  const created = await client.createDeployment(manifest, { signal });
  if (created.upload === undefined) shell.note('its artifact is there already');
  else await upload(shell, created.upload, archive);
  if (!options.activate) {
    await client.verifyDeployment(id, { signal });
    const change = await changeBetween(client, shell, await activeId(client, shell), id);
    const text = [`${id} is verified and not active. Activated, it would change this:`, ...changeLines(shell, change, id)];
    const data = { deploymentId: id, status: created.status, previousDeploymentId: change.previousDeploymentId };
    return { data: { ...data, workflows: workflowsIn(change) }, text: text.join('\n') };
  }
  const activated = await client.activateDeployment(id, { signal });
  const change = await changeBetween(client, shell, activated.previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: changeLines(shell, change, id).join('\n') };
};

function artifactIn(
  cwd: string,
  folder: string | undefined,
  { artifact, manifest, deploymentId: wantedId }: z.output<typeof shape>,
): Promise<Artifact> | Artifact {
  if (folder !== undefined) {
    if (artifact !== undefined || manifest !== undefined)
      throw usageFault('A folder, and --artifact with --manifest, exclude each other.');
    return packedFolder(cwd, folder, wantedId);
  }
  if (artifact === undefined || manifest === undefined) throw usageFault('Name a folder, or give --artifact and --manifest.');
  if (wantedId !== undefined) throw usageFault('--deployment-id is for a folder: an archive has the id of its manifest.');
  return readArtifact(cwd, artifact, manifest);
}
