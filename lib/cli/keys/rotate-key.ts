import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseArgument, integerBetween, keyId, parseOptions, omitUndefined } from '../parse-command-line.ts';

const shape = z.object({ overlapSeconds: integerBetween(0, 604_800).optional() });

export const rotateKey: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'keyId', keyId);
  const { overlapSeconds } = parseOptions(commandLine, shape);
  const client = await context.client();
  const newKey = await client.rotateKey(id, omitUndefined({ overlapSeconds }), { signal: context.signal });
  context.log(`Key ${newKey.keyId} replaces ${id}, which works until ${newKey.replaces.expiresAt}. It is shown this once.`);
  return { data: newKey, text: newKey.key };
};
