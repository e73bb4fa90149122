/** Whether the key works, until when, and what it may read. What it may write cannot be found out without writing. */
import { keyList } from '../../api/schemas/keys.ts';
import type { Connection, Shell } from '../command.ts';
import { when } from '../words.ts';
import type { Check } from './doctor.ts';
import { asked } from './doctor-service.ts';

/** Each is answered by reading one row, and shows one scope. */
const probes = [
  ['admin', '/v1/keys?limit=100'],
  ['runs:read', '/v1/runs?limit=1'],
  ['workflows:read', '/v1/workflows?limit=1'],
] as const;

const soonMs = 7 * 86_400_000;
const keyIdIn = /^sw_[a-z0-9-]+_([0-9A-Za-z]{8,32})_/;

export async function checkKey(shell: Shell, connection: Connection): Promise<readonly Check[]> {
  const name = 'key';
  const { apiKey } = connection;
  if (apiKey === undefined) return [{ name, verdict: 'fail', message: 'there is none: set STEPWELL_API_KEY' }];
  const scopes: string[] = [];
  for (const [scope, path] of probes) {
    const response = await asked(shell, connection, path);
    if (response.status === 401)
      return [{ name, verdict: 'fail', message: 'it is unknown, expired or revoked, or of another installation' }];
    if (response.status === 429) return [{ name, verdict: 'warn', message: 'it has used up its requests for this minute' }];
    if (response.status !== 200) continue;
    // admin grants all others.
    if (scope === 'admin')
      return [{ name, verdict: 'ok', message: 'it works, with the scope admin' }, ...(await expiry(shell, apiKey, response))];
    scopes.push(scope);
  }
  const message =
    scopes.length === 0 ? 'it works, and may read nothing' : `it works, with ${scopes.join(', ')}, and what else cannot be seen`;
  return [{ name, verdict: scopes.length === 0 ? 'warn' : 'ok', message }];
}

/** Among the newest hundred keys, where it is one of them. */
async function expiry(shell: Shell, apiKey: string, response: Response): Promise<readonly Check[]> {
  const listed = keyList.safeParse(await response.json().catch(() => undefined));
  const own = keyIdIn.exec(apiKey)?.[1];
  const until = listed.data?.data.find(({ keyId }) => keyId === own)?.expiresAt;
  if (until === undefined) return [];
  const isSoon = Date.parse(until) - shell.now() < soonMs;
  const message = `it expires at ${when(until, shell.now())}${isSoon ? ': stepwell keys rotate' : ''}`;
  return [{ name: 'key expiry', verdict: isSoon ? 'warn' : 'ok', message }];
}
