/** Brings an artifact to an installation, and makes it the one that new runs get, unless told otherwise. */
import type { StepwellClient } from '../../client/index.ts';
import type { Outcome, Shell } from '../command.ts';
import { many } from '../words.ts';
import { workflowsIn } from './activate.ts';
import type { Artifact } from './artifact.ts';
import { activeId, changeBetween, changeLines } from './change.ts';
import { upload } from './upload.ts';

const nothingNew = { added: [], removed: [], changed: [] };

export async function ship(
  shell: Shell,
  client: StepwellClient,
  { manifest, archive }: Artifact,
  { activates }: { readonly activates: boolean },
): Promise<Outcome> {
  const { signal } = shell;
  const id = manifest.deploymentId;
  shell.note(`${id}: ${many(manifest.files.length, 'file')}, ${archive.byteLength} bytes packed`);
  const created = await client.createDeployment(manifest, { signal });
  if (created.upload === undefined) shell.note('its artifact is there already');
  else await upload(shell, created.upload, archive);
  if (!activates) {
    await client.verifyDeployment(id, { signal });
    const change = await changeBetween(client, shell, await activeId(client, shell), id);
    const text = [`${id} is verified and not active. Activated, it would change this:`, ...changeLines(shell, change, id)];
    const data = { deploymentId: id, status: created.status, previousDeploymentId: change.previousDeploymentId };
    return { data: { ...data, workflows: workflowsIn(change) }, text: text.join('\n') };
  }
  const standing = await activeId(client, shell);
  const activated = await client.activateDeployment(id, { signal });
  if (standing === id) return { data: { ...activated, workflows: nothingNew }, text: `${id} is active already.` };
  const change = await changeBetween(client, shell, activated.previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: changeLines(shell, change, id).join('\n') };
}
