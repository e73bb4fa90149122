/**
 * Open sockets, and who watches which run over them. A record may outlive its socket: whoever posts to one finds out, and takes
 * it away. Whether a record is too old to count is judged by whoever reads it.
 */
import type { ConnectionId, KeyId, Nonce, RunAddress, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Connection {
  readonly connectionId: ConnectionId;
  /** whose runs it may watch */
  readonly scope: Scope;
  /** the key that it was opened with, itself or by a ticket */
  readonly keyId: KeyId;
  /** the one run that its ticket was for; absent: opened with the key */
  readonly onlyRun?: RunId;
  /** when the gateway will have closed it, whatever else happens */
  readonly expiresAt: Instant;
}

/** How far a watcher has come. */
export interface WatchCursor {
  /** the last event that was posted, or that had nothing to post */
  readonly after: number;
  /** of nodes at work, the index of the next delta */
  readonly next: Readonly<Record<string, number>>;
}

export interface Membership {
  readonly run: RunAddress;
  readonly connectionId: ConnectionId;
  readonly keyId: KeyId;
  /** of this joining: the same connection may join again, from another place */
  readonly joinId: Nonce;
  /** where its watcher asked to begin, or has come to */
  readonly cursor: WatchCursor;
  /** that it is joined has been posted */
  readonly isJoinAcknowledged: boolean;
  readonly expiresAt: Instant;
}

/** Who speaks for a run next: a message that was sent before this was written. */
export interface NextBroadcast {
  readonly broadcastId: Nonce;
  /** where the message has not been taken by then, it is not waited for any more */
  readonly until: Instant;
}

export interface RunWatchers {
  readonly members: readonly Membership[];
  readonly next?: NextBroadcast;
}

export interface Sockets {
  open(connection: Connection): Promise<void>;
  /** The connection and the runs it has joined; undefined where there is none. */
  connection(id: ConnectionId): Promise<{ readonly connection: Connection; readonly joined: readonly RunId[] } | undefined>;
  /** Puts the membership in the place of any that the connection has in this run. */
  join(membership: Membership): Promise<void>;
  leave(run: RunAddress, id: ConnectionId): Promise<void>;
  /** Takes away the connection with all its memberships. */
  close(id: ConnectionId): Promise<void>;
  /** Read strongly. */
  watchersOf(run: RunAddress): Promise<RunWatchers>;
  /** Notes how far a watcher has come, and that it was greeted; nothing where it has left or joined anew. */
  saveCursor(membership: Pick<Membership, 'run' | 'connectionId' | 'joinId'>, cursor: WatchCursor): Promise<void>;
  /** Says who speaks next; without one, that nobody does. */
  setNextBroadcast(run: RunAddress, next: NextBroadcast | undefined): Promise<void>;
}
