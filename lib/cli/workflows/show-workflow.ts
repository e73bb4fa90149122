import * as z from 'zod';
import type { Action } from '../command.ts';
import { argument, count, optionsIn, present, workflowName } from '../given.ts';

const shape = z.object({ versionNumber: count(1, Number.MAX_SAFE_INTEGER).optional() });

/** The definition itself, so that it can be edited and published again. */
export const showWorkflow: Action = async (given, shell) => {
  const name = argument(given, 0, 'name', workflowName);
  const { versionNumber } = optionsIn(given, shape);
  const client = await shell.client();
  const workflow = await client.getWorkflow(name, present({ version: versionNumber }), { signal: shell.signal });
  const { nodes, edges, options, version, createdAt, archivedAt } = workflow;
  shell.note(`${name}@${version}, created ${createdAt}${archivedAt === undefined ? '' : `, archived ${archivedAt}`}`);
  return { data: workflow, text: JSON.stringify({ name, nodes, edges, options }, null, 2) };
};
