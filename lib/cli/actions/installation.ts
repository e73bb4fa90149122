/** `stepwell catalogue`: what the installation offers to workflows. */
import type { Action } from '../command.ts';
import { formatTable } from '../format.ts';

export const showCatalogue: Action = async (_commandLine, context) => {
  const client = await context.client();
  const { secrets, models, databases } = await client.getCatalogue({ signal: context.signal });
  const rows = [
    ...secrets.map((name) => ['secret', name, `{{secret:${name}}}`]),
    ...models.map((name) => ['model', name, '']),
    ...databases.map((name) => ['database', name, '']),
  ];
  const text =
    rows.length === 0
      ? 'The installation offers no names to this project.'
      : formatTable(context, ['kind', 'name', 'template'], rows);
  return { data: { secrets, models, databases }, text };
};
