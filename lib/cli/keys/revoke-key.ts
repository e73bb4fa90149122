import type { Action } from '../command.ts';
import { argument, keyId } from '../given.ts';

export const revokeKey: Action = async (given, shell) => {
  const id = argument(given, 0, 'keyId', keyId);
  const client = await shell.client();
  const revoked = await client.revokeKey(id, { signal: shell.signal });
  return { data: revoked, text: `${id} is revoked since ${revoked.revokedAt}; within 30 seconds it works nowhere.` };
};
