/** Whether the key works, until when, and what it may read. What it may write cannot be found out without writing. */
import { keyList } from '../../api/schemas/keys.ts';
import type { Connection, CommandContext } from '../command.ts';
import { formatTime } from '../format.ts';
import type { Check } from './doctor.ts';
import { fetchOnce } from './doctor-service.ts';

/** Each is answered by reading one row, and shows one scope. */
const probes = [
  ['admin', '/v1/keys?limit=100'],
  ['runs:read', '/v1/runs?limit=1'],
  ['workflows:read', '/v1/workflows?limit=1'],
] as const;

const soonMs = 7 * 86_400_000;
const keyIdPattern = /^sw_[a-z0-9-]+_([0-9A-Za-z]{8,32})_/;

export async function checkKey(context: CommandContext, connection: Connection): Promise<readonly Check[]> {
  const name = 'key';
  const { apiKey } = connection;
  if (apiKey === undefined) return [{ name, result: 'fail', message: 'there is none: set STEPWELL_API_KEY' }];
  const scopes: string[] = [];
  for (const [scope, path] of probes) {
    const response = await fetchOnce(context, connection, path);
    if (response.status === 401)
      return [{ name, result: 'fail', message: 'it is unknown, expired or revoked, or of another installation' }];
    if (response.status === 429) return [{ name, result: 'warn', message: 'it has used up its requests for this minute' }];
    if (response.status !== 200) continue;
    // admin grants all others.
    if (scope === 'admin')
      return [
        { name, result: 'ok', message: 'it works, with the scope admin' },
        ...(await checkExpiry(context, apiKey, response)),
      ];
    scopes.push(scope);
  }
  const message =
    scopes.length === 0 ? 'it works, and may read nothing' : `it works, with ${scopes.join(', ')}, and what else cannot be seen`;
  return [{ name, result: scopes.length === 0 ? 'warn' : 'ok', message }];
}

/** Among the newest hundred keys, where it is one of them. */
async function checkExpiry(context: CommandContext, apiKey: string, response: Response): Promise<readonly Check[]> {
  const listed = keyList.safeParse(await response.json().catch(() => undefined));
  const presentedKeyId = keyIdPattern.exec(apiKey)?.[1];
  const expiresAt = listed.data?.data.find(({ keyId }) => keyId === presentedKeyId)?.expiresAt;
  if (expiresAt === undefined) return [];
  const isSoon = Date.parse(expiresAt) - context.now() < soonMs;
  const message = `it expires at ${formatTime(expiresAt, context.now())}${isSoon ? ': stepwell keys rotate' : ''}`;
  return [{ name: 'key expiry', result: isSoon ? 'warn' : 'ok', message }];
}
