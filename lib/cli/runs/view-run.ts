import * as z from 'zod';
import { type Action, usageFault } from '../command.ts';
import { argument, file, json, optionsIn, readJson, runId } from '../given.ts';

const shape = z.object({ config: json.optional(), configFile: file.optional() });

/** What a widget would show: the view alone on stdout, so that it can be piped on. */
export const viewRun: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { config: inLine, configFile } = optionsIn(given, shape);
  if ((inLine === undefined) === (configFile === undefined)) throw usageFault('Give one of --config and --config-file.');
  const config = configFile === undefined ? inLine : readJson(shell.cwd, configFile);
  const client = await shell.client();
  const viewed = await client.viewRun(id, { config: config ?? null }, { signal: shell.signal });
  shell.note(`${id} is ${viewed.status}, as of event ${viewed.lastEventId}`);
  return { data: viewed, text: JSON.stringify(viewed.view, null, 2) };
};
