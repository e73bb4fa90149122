/** Brings an artifact to an installation, and makes it the one that new runs get, unless told otherwise. */
import type { StepwellClient } from '../../client/index.ts';
import type { Outcome, CommandContext } from '../command.ts';
import { quantity } from '../format.ts';
import { workflowsIn } from './activate.ts';
import type { Artifact } from './artifact.ts';
import { readActiveDeploymentId, compareDeployments, formatChange } from './compare-deployments.ts';
import { upload } from './upload.ts';

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
  if (created.upload === undefined) context.log('its artifact is there already');
  else await upload(context, created.upload, archive);
  if (!shouldActivate) {
    await client.verifyDeployment(id, { signal });
    const change = await compareDeployments(client, context, await readActiveDeploymentId(client, context), id);
    const text = [`${id} is verified and not active. Activated, it would change this:`, ...formatChange(context, change, id)];
    const data = { deploymentId: id, status: created.status, previousDeploymentId: change.previousDeploymentId };
    return { data: { ...data, workflows: workflowsIn(change) }, text: text.join('\n') };
  }
  const activeDeploymentId = await readActiveDeploymentId(client, context);
  const activated = await client.activateDeployment(id, { signal });
  if (activeDeploymentId === id) return { data: { ...activated, workflows: noChange }, text: `${id} is active already.` };
  const change = await compareDeployments(client, context, activated.previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: formatChange(context, change, id).join('\n') };
}
