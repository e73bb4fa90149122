/** Connections, watchers, posts and watch messages in memory. */
import { defined } from '../base/defined.ts';
import { type Hops, noHops } from '../engine/hops.ts';
import type { ConnectionId, RunAddress } from '../engine/ids.ts';
import type {
  Posts,
  Connection,
  WatchCursor,
  Membership,
  NextBroadcast,
  RunWatchers,
  Sockets,
  Watch,
  Watches,
} from '../ports/sockets.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { frozenCopy } from './frozen-copy.ts';
import { runName } from './runs.ts';

export class MemorySockets implements Sockets {
  readonly #connections = new Map<ConnectionId, Connection>();
  readonly #members = new Map<string, Map<ConnectionId, Membership>>();
  readonly #next = new Map<string, NextBroadcast>();

  async open(connection: Connection): Promise<void> {
    this.#connections.set(connection.connectionId, frozenCopy(connection));
  }

  async connection(id: ConnectionId): ReturnType<Sockets['connection']> {
    const connection = this.#connections.get(id);
    if (connection === undefined) return undefined;
    return { connection, joined: this.#joinedBy(id).map(({ run }) => run.runId) };
  }

  async join(membership: Membership): Promise<void> {
    const name = runName(membership.run);
    const members = this.#members.get(name) ?? new Map<ConnectionId, Membership>();
    this.#members.set(name, members.set(membership.connectionId, frozenCopy(membership)));
  }

  async leave(run: RunAddress, id: ConnectionId): Promise<void> {
    this.#members.get(runName(run))?.delete(id);
  }

  async close(id: ConnectionId): Promise<void> {
    this.#connections.delete(id);
    for (const { run } of this.#joinedBy(id)) await this.leave(run, id);
  }

  async watchersOf(run: RunAddress): Promise<RunWatchers> {
    const next = this.#next.get(runName(run));
    const members = [...(this.#members.get(runName(run))?.values() ?? [])];
    return defined({ members, next });
  }

  async saveCursor({ run, connectionId, joinId }: Parameters<Sockets['saveCursor']>[0], cursor: WatchCursor): Promise<void> {
    const existing = this.#members.get(runName(run))?.get(connectionId);
    if (existing?.joinId === joinId) await this.join({ ...existing, cursor, isJoinAcknowledged: true });
  }

  async setNextBroadcast(run: RunAddress, next: NextBroadcast | undefined): Promise<void> {
    if (next === undefined) this.#next.delete(runName(run));
    else this.#next.set(runName(run), frozenCopy(next));
  }

  #joinedBy(id: ConnectionId): readonly Membership[] {
    return [...this.#members.values()].flatMap((members) => members.get(id) ?? []);
  }
}

export class MemoryPosts implements Posts {
  /** the texts that connections received, in order */
  readonly posted: { readonly to: ConnectionId; readonly text: string }[] = [];
  readonly closed: ConnectionId[] = [];
  readonly #disconnected = new Set<ConnectionId>();
  readonly #blocked = new Set<ConnectionId>();

  async post(id: ConnectionId, text: string): Promise<'posted' | 'gone'> {
    if (this.#blocked.has(id)) throw new Unavailable(`the socket ${id}`);
    if (this.#disconnected.has(id)) return 'gone';
    this.posted.push({ to: id, text });
    return 'posted';
  }

  async close(id: ConnectionId): Promise<void> {
    this.closed.push(id);
    this.#disconnected.add(id);
  }

  /** The client closes the connection. */
  disconnect(id: ConnectionId): void {
    this.#disconnected.add(id);
  }

  /** The client stops reading. */
  block(id: ConnectionId): void {
    this.#blocked.add(id);
  }
}

export class MemoryWatches implements Watches {
  readonly sent: Watch[] = [];
  readonly #hops = new WeakMap<Watch, Hops>();

  /** @param watch an object of `sent` */
  hopsOf(watch: Watch): Hops {
    return this.#hops.get(watch) ?? noHops;
  }

  async send(watch: Watch, hops: Hops = noHops): Promise<void> {
    if (this.sent.some(({ broadcastId }) => broadcastId === watch.broadcastId)) return;
    const copy = frozenCopy({ ...watch });
    this.#hops.set(copy, hops);
    this.sent.push(copy);
  }
}
