import type { Action } from '../command.ts';
import { argument, workflowName } from '../given.ts';

export const archiveWorkflow: Action = async (given, shell) => {
  const name = argument(given, 0, 'name', workflowName);
  const client = await shell.client();
  const archived = await client.archiveWorkflow(name, { signal: shell.signal });
  return { data: archived, text: `${name} is archived since ${archived.archivedAt}.` };
};
