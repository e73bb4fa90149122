/**
 * WebSocket connections and watchers in the control table. A connection's partition lists the runs that it watches, so that
 * closing it can delete all memberships. A run's partition has its watchers, so that one query finds them.
 */
import { defined } from '../base/defined.ts';
import * as z from 'zod';
import { connectionId, environment, instant, keyId, nonce, projectId, runId } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { storedWatchCursor } from '../codec/watches.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { ConnectionId, RunAddress, RunId } from '../engine/ids.ts';
import type { Connection, WatchCursor, Membership, NextBroadcast, RunWatchers, Sockets } from '../ports/sockets.ts';
import {
  type Item,
  expiry,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  present,
  text,
  textAttribute,
  itemVersion,
  itemVersionAttribute,
} from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Key, type Table, allOf } from './table.ts';

const connectionKey = (id: ConnectionId, sort: string): Key => ({ pk: partitionOf('socket', id), sk: sort });
const connectionSort = 'connection';
const joinedPrefix = 'joined#';
const joinedKey = (id: ConnectionId, run: RunId): Key => connectionKey(id, `${joinedPrefix}${run}`);

const watchersKey = (run: RunAddress, sort: string): Key => ({ pk: partitionOf('watch', scopeKey(run), run.runId), sk: sort });
const memberPrefix = 'member#';
const memberKey = (run: RunAddress, id: ConnectionId): Key => watchersKey(run, `${memberPrefix}${id}`);
const nextSort = 'next';

const itemExists = (name: string) => ({ expression: 'attribute_exists(#pk)', names: { '#pk': name } });

export class DynamoSockets implements Sockets {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async open(connection: Connection): Promise<void> {
    await this.#table.put(connectionKey(connection.connectionId, connectionSort), connectionAttributes(connection));
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
    await this.#table.put(joinedKey(id, run.runId), { v: itemVersion, [controlTableKeys.expiry]: expiry(expiresAt) });
    await this.#table.put(memberKey(run, id), memberAttributes(membership));
  }

  async leave(run: RunAddress, id: ConnectionId): Promise<void> {
    await this.#table.delete(memberKey(run, id), itemExists(controlTableKeys.partition));
    await this.#table.delete(joinedKey(id, run.runId), itemExists(controlTableKeys.partition));
  }

  async close(id: ConnectionId): Promise<void> {
    const known = await this.connection(id);
    if (known === undefined) return;
    for (const joined of known.joined) await this.leave({ ...known.connection.scope, runId: joined }, id);
    await this.#table.delete(connectionKey(id, connectionSort), itemExists(controlTableKeys.partition));
  }

  async watchersOf(run: RunAddress): Promise<RunWatchers> {
    const items = await this.#partition(watchersKey(run, nextSort));
    const next = items.find((item) => sortIn(item) === nextSort);
    const members = items.filter((item) => sortIn(item).startsWith(memberPrefix)).map((item) => memberIn(run, item));
    return defined({ members, next: next === undefined ? undefined : nextIn(next) });
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
    if (next === undefined) await this.#table.delete(key, itemExists(controlTableKeys.partition));
    else await this.#table.put(key, nextAttributes(next));
  }

  #partition({ pk }: Key): Promise<readonly Item[]> {
    const condition = { KeyConditionExpression: '#pk = :pk', ExpressionAttributeNames: { '#pk': controlTableKeys.partition } };
    return allOf(this.#table.query({ ...condition, ExpressionAttributeValues: { ':pk': text(pk) }, ConsistentRead: true }));
  }
}

const sorted = z.object({ [controlTableKeys.sort]: textAttribute });
const sortIn = (item: Item): string => read('an item of a connection', sorted, item)[controlTableKeys.sort] ?? '';
const runIn = (name: string): RunId => read('a joined run', runId, name);

const connectionAttributes = ({ scope, keyId: id, onlyRun, expiresAt }: Connection): Item =>
  present({
    v: itemVersion,
    projectId: text(scope.projectId),
    environment: text(scope.environment),
    keyId: text(id),
    runId: onlyRun === undefined ? undefined : text(onlyRun),
    expiresAt: number(expiresAt),
    [controlTableKeys.expiry]: expiry(expiresAt),
  });

const connectionItem = z.object({
  v: itemVersionAttribute,
  projectId: textAttribute.pipe(projectId),
  environment: textAttribute.pipe(environment),
  keyId: textAttribute.pipe(keyId),
  runId: textAttribute.pipe(runId).exactOptional(),
  expiresAt: numberAttribute.pipe(instant),
});
const connectionIn = (id: ConnectionId, item: Item): Connection => {
  const { projectId: project, environment: env, runId: only, ...rest } = read('a connection', connectionItem, item);
  const { keyId: key, expiresAt } = rest;
  const scope = { projectId: project, environment: env };
  return defined({ connectionId: id, scope, keyId: key, onlyRun: only, expiresAt });
};

const memberAttributes = ({ connectionId: id, keyId: key, joinId, cursor, isJoinAcknowledged, expiresAt }: Membership): Item => ({
  v: itemVersion,
  c: text(id),
  k: text(key),
  j: text(joinId),
  h: packed(cursor),
  g: number(isJoinAcknowledged ? 1 : 0),
  expiresAt: number(expiresAt),
  [controlTableKeys.expiry]: expiry(expiresAt),
});

const memberItem = z.object({
  v: itemVersionAttribute,
  c: textAttribute.pipe(connectionId),
  k: textAttribute.pipe(keyId),
  j: textAttribute.pipe(nonce),
  h: packedAttribute,
  g: numberAttribute,
  expiresAt: numberAttribute.pipe(instant),
});
const memberIn = (run: RunAddress, item: Item): Membership => {
  const { c, k, j, h, g, expiresAt } = read('a watcher', memberItem, item);
  const cursor = readJson('the cursor of a watcher', storedWatchCursor, unpack('the cursor of a watcher', h));
  return { run, connectionId: c, keyId: k, joinId: j, cursor, isJoinAcknowledged: g === 1, expiresAt };
};

const nextAttributes = ({ broadcastId, until }: NextBroadcast): Item => ({
  v: itemVersion,
  broadcastId: text(broadcastId),
  until: number(until),
  [controlTableKeys.expiry]: expiry(until),
});
const nextItem = z.object({
  v: itemVersionAttribute,
  broadcastId: textAttribute.pipe(nonce),
  until: numberAttribute.pipe(instant),
});
const nextIn = (item: Item): NextBroadcast => {
  const { broadcastId, until } = read('the next broadcaster of a run', nextItem, item);
  return { broadcastId, until };
};
