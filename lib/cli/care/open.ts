import * as z from 'zod';
import type { Action } from '../command.ts';
import { optionsIn } from '../given.ts';

const shape = z.object({ browser: z.boolean().default(true) });

export const open: Action = async (given, shell) => {
  const { browser } = optionsIn(given, shape);
  const { url, source } = await shell.connection();
  const page = `${url}/v1/openapi.json`;
  if (browser && !shell.isJson) shell.openInBrowser?.(page);
  return { data: { url, source, openApi: page }, text: url };
};
