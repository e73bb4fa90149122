/** `stepwell catalogue`: what the installation offers to workflows; `stepwell installation`: its settings. */
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

export const showInstallation: Action = async (_commandLine, context) => {
  const client = await context.client();
  const installation = await client.getInstallation({ signal: context.signal });
  const { version, region, limits, features, choices, names } = installation;
  const rows = [
    ...Object.entries(limits).map(([name, value]) => [name, value === null ? 'no limit' : String(value)]),
    ...Object.entries(features).map(([name, isOn]) => [name, isOn ? 'on' : 'off']),
    ...Object.entries(choices),
    ...Object.entries(names).map(([name, values]) => [name, values.join(', ')]),
  ].toSorted(([one = ''], [other = '']) => one.localeCompare(other));
  const table = formatTable(context, ['setting', 'value'], rows);
  return { data: installation, text: `Stepwell ${version} in ${region}\n\n${table}` };
};
