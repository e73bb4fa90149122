import * as z from 'zod';
import { type Action, usageError } from '../command.ts';
import { parseArgument, file, json, parseOptions, readJson, runId } from '../parse-command-line.ts';

const shape = z.object({ config: json.optional(), configFile: file.optional() });

/** What a widget would show: the view alone on stdout, so that it can be piped on. */
export const viewRun: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'runId', runId);
  const { config: inlineConfig, configFile } = parseOptions(commandLine, shape);
  if ((inlineConfig === undefined) === (configFile === undefined)) throw usageError('Give one of --config and --config-file.');
  const config = configFile === undefined ? inlineConfig : readJson(context.cwd, configFile);
  const client = await context.client();
  const viewed = await client.viewRun(id, { config: config ?? null }, { signal: context.signal });
  context.log(`${id} is ${viewed.status}, as of event ${viewed.lastEventId}`);
  return { data: viewed, text: JSON.stringify(viewed.view, null, 2) };
};
