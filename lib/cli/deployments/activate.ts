/** `activate` and `rollback`. */
import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import type { Action, Outcome, Shell } from '../command.ts';
import { argument, deploymentId, optionsIn, present } from '../given.ts';
import { type Change, changeBetween, changeLines } from './change.ts';

const rollbackShape = z.object({ deploymentId: deploymentId.optional() });

export const activate: Action = async (given, shell) => {
  const id = argument(given, 0, 'deploymentId', deploymentId);
  const client = await shell.client();
  return told(shell, client, await client.activateDeployment(id, { signal: shell.signal }));
};

export const rollback: Action = async (given, shell) => {
  const options = optionsIn(given, rollbackShape);
  const client = await shell.client();
  const body = present({ deploymentId: options.deploymentId });
  return told(shell, client, await client.rollbackDeployment(body, { signal: shell.signal }));
};

async function told(
  shell: Shell,
  client: StepwellClient,
  activated: Awaited<ReturnType<StepwellClient['activateDeployment']>>,
): Promise<Outcome> {
  const { deploymentId: id, previousDeploymentId } = activated;
  const change = await changeBetween(client, shell, previousDeploymentId, id);
  return { data: { ...activated, workflows: workflowsIn(change) }, text: changeLines(shell, change, id).join('\n') };
}

export const workflowsIn = ({ added, removed, changed }: Change) => ({ added, removed, changed });
