import type { Action } from '../command.ts';
import { argument, deploymentId } from '../given.ts';

export const removeDeployment: Action = async (given, shell) => {
  const id = argument(given, 0, 'deploymentId', deploymentId);
  const client = await shell.client();
  const removed = await client.removeDeployment(id, { signal: shell.signal });
  return { data: removed, text: `${id} is removed; its id stays taken.` };
};
