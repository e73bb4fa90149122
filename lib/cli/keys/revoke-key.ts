import type { Action } from '../command.ts';
import { parseArgument, keyId } from '../parse-command-line.ts';

export const revokeKey: Action = async (commandLine, context) => {
  const id = parseArgument(commandLine, 0, 'keyId', keyId);
  const client = await context.client();
  const revoked = await client.revokeKey(id, { signal: context.signal });
  return { data: revoked, text: `${id} is revoked since ${revoked.revokedAt}; within 30 seconds it works nowhere.` };
};
