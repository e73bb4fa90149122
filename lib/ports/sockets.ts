/** WebSocket connections: which runs they watch, the messages to their broadcaster, and posts to them. */
import type { Hops } from '../engine/hops.ts';
import type { ConnectionId, KeyId, Nonce, RunAddress, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface Connection {
  readonly connectionId: ConnectionId;
  /** the scope whose runs it may watch */
  readonly scope: Scope;
  /** the API key that opened it, directly or through a ticket */
  readonly keyId: KeyId;
  /** the run of its ticket; absent: opened with the key */
  readonly onlyRun?: RunId;
  /** the time limit of the gateway */
  readonly expiresAt: Instant;
}

/** The progress of a watcher. */
export interface WatchCursor {
  /** the last event that was posted or skipped */
  readonly after: number;
  /** the index of the next delta of each running node */
  readonly next: Readonly<Record<string, number>>;
}

export interface Membership {
  readonly run: RunAddress;
  readonly connectionId: ConnectionId;
  readonly keyId: KeyId;
  /** identifies this join; the same connection may join again with another cursor */
  readonly joinId: Nonce;
  /** the start that the watcher requested, then its progress */
  readonly cursor: WatchCursor;
  /** the join was acknowledged to the client */
  readonly isJoinAcknowledged: boolean;
  readonly expiresAt: Instant;
}

/** The announced next broadcaster of a run. Its message was sent before this record was written. */
export interface NextBroadcast {
  readonly broadcastId: Nonce;
  /** if no broadcaster has received the message by then, another one is requested */
  readonly until: Instant;
}

export interface RunWatchers {
  readonly members: readonly Membership[];
  readonly next?: NextBroadcast;
}

/**
 * WebSocket connections and the runs that they watch. A record may outlive its connection: the sender of a message finds
 * out and deletes the record. Readers check whether a record has expired.
 */
export interface Sockets {
  open(connection: Connection): Promise<void>;
  /** The connection and the runs that it watches; undefined if there is none. */
  connection(id: ConnectionId): Promise<{ readonly connection: Connection; readonly joined: readonly RunId[] } | undefined>;
  /** Adds the membership, or replaces the connection's membership in this run. */
  join(membership: Membership): Promise<void>;
  leave(run: RunAddress, id: ConnectionId): Promise<void>;
  /** Deletes the connection with all its memberships. */
  close(id: ConnectionId): Promise<void>;
  /** Strongly consistent. */
  watchersOf(run: RunAddress): Promise<RunWatchers>;
  /** Saves a watcher's progress and its acknowledgement. Does nothing if the watcher has left or joined again. */
  saveCursor(membership: Pick<Membership, 'run' | 'connectionId' | 'joinId'>, cursor: WatchCursor): Promise<void>;
  /** Announces the next broadcaster; undefined: none. */
  setNextBroadcast(run: RunAddress, next: NextBroadcast | undefined): Promise<void>;
}

export interface Watch {
  readonly run: RunAddress;
  /** identifies the message among those of its run, and deduplicates it */
  readonly broadcastId: Nonce;
}

/** Watch messages. Each requests a broadcaster for a run: its receiver posts the run's updates to the watchers. */
export interface Watches {
  /** Messages of one run are received one at a time. `hops`: as in `ports/jobs.ts`. */
  send(watch: Watch, hops?: Hops): Promise<void>;
}

/** Sends messages to open WebSocket connections. */
export interface Posts {
  /**
   * Sends a text of at most 128 KB, with a time limit. `gone`: the connection is closed.
   * @throws Unavailable if the connection did not accept the text in time; the caller may send it again
   */
  post(id: ConnectionId, text: string): Promise<'posted' | 'gone'>;
  /** Closes the connection if it is open. */
  close(id: ConnectionId): Promise<void>;
}
