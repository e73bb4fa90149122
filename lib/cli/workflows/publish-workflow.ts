import { ComputeClientError } from '../../client/index.ts';
import { type Action, usageFault } from '../command.ts';
import { argument, file, workflowName } from '../given.ts';
import { readDefinition } from './definition-file.ts';
import { findingLines } from './finding-lines.ts';

export const publishWorkflow: Action = async (given, shell) => {
  const path = argument(given, 0, 'file', file);
  const definition = readDefinition(shell.cwd, path);
  const named = workflowName.safeParse(definition.name);
  if (!named.success) throw usageFault(`${path}: "name" ${named.error.issues[0]?.message ?? 'is wrong'}.`);
  const name = named.data;
  const client = await shell.client();
  const { signal } = shell;
  const published = await client.createWorkflow({ ...definition, name }, { signal }).catch((trouble: unknown) => {
    if (trouble instanceof ComputeClientError && trouble.code === 'workflow_exists')
      return client.publishVersion(name, definition, { signal });
    throw trouble;
  });
  for (const line of findingLines(published.warnings)) shell.note(line);
  return { data: published, text: `${published.name}@${published.version}` };
};
