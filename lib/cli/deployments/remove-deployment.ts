import type { Action } from '../command.ts';
import { parseArgument, deploymentId } from '../parse-command-line.ts';

export const removeDeployment: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'deploymentId', deploymentId);
  const client = await context.client();
  const removed = await client.removeDeployment(id, { signal: context.signal });
  return { data: removed, text: `${id} is removed; its id stays taken.` };
};
