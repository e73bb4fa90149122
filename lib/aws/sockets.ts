/**
 * WebSocket connections and watchers in the control table. A connection's partition lists the runs that it watches, so that
 * closing it can delete all memberships. A run's partition has its watchers, so that one query finds them.
 */
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import { connectionId, environment, keyId, nonce, projectId, runId } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { storedWatchCursor } from '../codec/watches.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { ConnectionId, RunAddress, RunId } from '../engine/ids.ts';
import type { Connection, WatchCursor, Membership, NextBroadcast, RunWatchers, Sockets } from '../ports/sockets.ts';
import {
  type Item,
  number,
  packed,
  text,
  anyInstant,
  anyFlag,
  stringOf,
  jsonOf,
  optional,
  named,
  keyPart,
  itemSchema,
  partSchema,
} from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Key, type Table, allOf, ifExists } from './table.ts';

const connectionKey = (id: ConnectionId, sort: string): Key => ({ pk: partitionOf('socket', id), sk: sort });
const connectionSort = 'connection';
const joinedPrefix = 'joined#';
const joinedKey = (id: ConnectionId, run: RunId): Key => connectionKey(id, `${joinedPrefix}${run}`);

const watchersKey = (run: RunAddress, sort: string): Key => ({ pk: partitionOf('watch', scopeKey(run), run.runId), sk: sort });
const memberPrefix = 'member#';
const memberKey = (run: RunAddress, id: ConnectionId): Key => watchersKey(run, `${memberPrefix}${id}`);
const nextSort = 'next';

export class DynamoSockets implements Sockets {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async open(connection: Connection): Promise<void> {
    await this.#table.put(
      connectionKey(connection.connectionId, connectionSort),
      connectionItem.encode({ ...connection.scope, ...connection }, connection.expiresAt),
    );
  }

  async connection(id: ConnectionId): ReturnType<Sockets['connection']> {
    const items = await this.#partition(connectionKey(id, connectionSort));
    const connectionRecord = items.find((item) => sortIn(item) === connectionSort);
    if (connectionRecord === undefined) return undefined;
    const joined = items.map(sortIn).filter((sort) => sort.startsWith(joinedPrefix));
    return {
      connection: connectionIn(id, connectionRecord),
      joined: joined.map((sort) => runIn(sort.slice(joinedPrefix.length))),
    };
  }

  async join(membership: Membership): Promise<void> {
    const { run, connectionId: id, expiresAt } = membership;
    // First the entry of the connection: closing the connection finds the membership through it.
    await this.#table.put(joinedKey(id, run.runId), joinedItem.encode({}, expiresAt));
    await this.#table.put(memberKey(run, id), memberItem.encode(membership, expiresAt));
  }

  async leave(run: RunAddress, id: ConnectionId): Promise<void> {
    await this.#table.delete(memberKey(run, id), ifExists);
    await this.#table.delete(joinedKey(id, run.runId), ifExists);
  }

  async close(id: ConnectionId): Promise<void> {
    const known = await this.connection(id);
    if (known === undefined) return;
    for (const joined of known.joined) await this.leave({ ...known.connection.scope, runId: joined }, id);
    await this.#table.delete(connectionKey(id, connectionSort), ifExists);
  }

  async watchersOf(run: RunAddress): Promise<RunWatchers> {
    const items = await this.#partition(watchersKey(run, nextSort));
    const next = items.find((item) => sortIn(item) === nextSort);
    const members = items
      .filter((item) => sortIn(item).startsWith(memberPrefix))
      .map((item) => ({ run, ...memberItem.decode(item) }));
    return defined({ members, next: next && nextItem.decode(next) });
  }

  async saveCursor({ run, connectionId: id, joinId }: Parameters<Sockets['saveCursor']>[0], cursor: WatchCursor): Promise<void> {
    await this.#table.update(
      memberKey(run, id),
      { expression: 'SET h = :cursor, g = :acknowledged', values: { ':cursor': packed(cursor), ':acknowledged': number(1) } },
      { expression: 'j = :joinId', values: { ':joinId': text(joinId) } },
    );
  }

  async setNextBroadcast(run: RunAddress, next: NextBroadcast | undefined): Promise<void> {
    const key = watchersKey(run, nextSort);
    if (next === undefined) await this.#table.delete(key, ifExists);
    else await this.#table.put(key, nextItem.encode(next, next.until));
  }

  #partition({ pk }: Key): Promise<readonly Item[]> {
    const condition = { KeyConditionExpression: '#pk = :pk', ExpressionAttributeNames: { '#pk': controlTableKeys.partition } };
    return allOf(this.#table.query({ ...condition, ExpressionAttributeValues: { ':pk': text(pk) }, ConsistentRead: true }));
  }
}

const sortItem = partSchema('an item of a connection', { sort: keyPart('sk', z.string()) });
const sortIn = (item: Item): string => sortItem.decode(item).sort;
const runIn = (name: string): RunId => read('a joined run', runId, name);

const joinedItem = itemSchema('a joined run', {});

const connectionItem = itemSchema('a connection', {
  projectId: stringOf(projectId),
  environment: stringOf(environment),
  keyId: stringOf(keyId),
  onlyRun: named('runId', optional(stringOf(runId))),
  expiresAt: anyInstant,
});
const connectionIn = (id: ConnectionId, item: Item): Connection => {
  const { projectId: project, environment: env, ...connection } = connectionItem.decode(item);
  return { connectionId: id, scope: { projectId: project, environment: env }, ...connection };
};

const memberItem = itemSchema('a watcher', {
  connectionId: named('c', stringOf(connectionId)),
  keyId: named('k', stringOf(keyId)),
  joinId: named('j', stringOf(nonce)),
  cursor: named('h', jsonOf(storedWatchCursor)),
  isJoinAcknowledged: named('g', anyFlag),
  expiresAt: anyInstant,
});

const nextItem = itemSchema('the next broadcaster of a run', { broadcastId: stringOf(nonce), until: anyInstant });
