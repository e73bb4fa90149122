import * as z from 'zod';
import type { Action } from '../command.ts';
import { argument, count, keyId, optionsIn, present } from '../given.ts';

const shape = z.object({ overlapSeconds: count(0, 604_800).optional() });

export const rotateKey: Action = async (given, shell) => {
  const id = argument(given, 0, 'keyId', keyId);
  const { overlapSeconds } = optionsIn(given, shape);
  const client = await shell.client();
  const made = await client.rotateKey(id, present({ overlapSeconds }), { signal: shell.signal });
  shell.note(`Key ${made.keyId} replaces ${id}, which works until ${made.replaces.expiresAt}. It is shown this once.`);
  return { data: made, text: made.key };
};
