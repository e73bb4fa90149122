/** Joins a run over a socket: writes a membership for the run's broadcaster, and sends a message that starts a broadcaster. */
import type { ConnectionId, RunId } from '../../engine/ids.ts';
import type { Instant } from '../../engine/time.ts';
import type { Connection, Sockets, Watches } from '../../ports/sockets.ts';
import type { Deps } from '../deps.ts';

/** Maximum number of runs that one connection watches. */
export const maxJoinedRuns = 20;

export interface JoinRequest {
  readonly connection: Connection;
  readonly joined: readonly RunId[];
  readonly runId: RunId;
  /** the last event that the watcher has seen; 0 before the first */
  readonly after: number;
}

export type JoinResult = { readonly kind: 'joined' | 'not_found' | 'too_many' };

export async function joinRun(
  { log, ids, sockets, watches }: Pick<Deps, 'log' | 'ids'> & { readonly sockets: Sockets; readonly watches: Watches },
  { connection, joined, runId, after }: JoinRequest,
): Promise<JoinResult> {
  const { connectionId, scope, keyId, onlyRun, expiresAt } = connection;
  const run = { ...scope, runId };
  // A ticket opens one run: for its connection every other run is not found.
  if (onlyRun !== undefined && onlyRun !== runId) return { kind: 'not_found' };
  if ((await log.head(run)) === undefined) return { kind: 'not_found' };
  if (joined.length >= maxJoinedRuns && !joined.includes(runId)) return { kind: 'too_many' };
  const joinId = ids.nonce();
  await sockets.join({ run, connectionId, keyId, joinId, cursor: { after, next: {} }, isJoinAcknowledged: false, expiresAt });
  // Sent after the membership is written, so that the broadcaster finds it.
  await watches.send({ run, broadcastId: joinId });
  return { kind: 'joined' };
}

/** Reads an accepted connection; undefined if it does not exist or has expired. */
export async function openConnection(
  { sockets }: { readonly sockets: Sockets },
  id: ConnectionId,
  now: Instant,
): ReturnType<Sockets['connection']> {
  const known = await sockets.connection(id);
  return known !== undefined && known.connection.expiresAt > now ? known : undefined;
}
