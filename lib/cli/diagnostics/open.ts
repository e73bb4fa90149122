import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';

const shape = z.object({ browser: z.boolean().default(true) });

export const open: Action = async (commandLine, context) => {
  const { browser } = parseOptions(commandLine, shape);
  const { url, source } = await context.connection();
  const page = `${url}/v1/openapi.json`;
  if (browser && !context.isJson) context.openInBrowser?.(page);
  return { data: { url, source, openApi: page }, text: url };
};
