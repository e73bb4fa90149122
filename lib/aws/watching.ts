/** The ports for watching a run, in DynamoDB: output of running nodes, tickets, reader leases and stream slots. */
import type { Makers } from '../base/lazy.ts';
import type { Resources } from './resources.ts';
import { createHash } from 'node:crypto';
import * as z from 'zod';
import * as schema from '../codec/ids.ts';
import { environment, instant, keyId, projectId, runId, nonce } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys, controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Nonce, NodeKey, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  Delta,
  DeltaPut,
  Streams,
  Ticket,
  Tickets,
  Reader,
  ReaderLeases,
  SlotLease,
  StreamSlot,
  WatchingPorts,
} from '../ports/watching.ts';
import {
  type Item,
  expiry,
  instantAttribute,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  text,
  textAttribute,
  itemVersion,
  itemVersionAttribute,
  number as numberOf,
} from './item-schema.ts';
import { deltaIndexIn, deltaKey, deltaSort, lastDeltaSort, runPartition } from './run-keys.ts';
import { type Table, firstOf, ifNotExists, type Key, type Expression, allOf } from './table.ts';

/** Streams of running nodes, as items beside the run's log. */
export class DynamoStreams implements Streams {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async put(run: RunAddress, node: NodeKey, delta: Delta, expiresAt: Instant): Promise<DeltaPut> {
    const put = await this.#table.put(deltaKey(run, node, delta.index), deltaAttributes(delta, expiresAt), ifNotExists);
    return put.kind === 'stored' ? put : { kind: 'occupied', owner: ownerIn(put.existing) };
  }

  async from(run: RunAddress, node: NodeKey, index: number, limit: number): Promise<readonly Delta[]> {
    const items = this.#table.query({ ...this.#between(run, node, index), Limit: limit });
    return (await firstOf(items, limit)).map(deltaIn);
  }

  async last(run: RunAddress, node: NodeKey): Promise<Delta | undefined> {
    const items = this.#table.query({ ...this.#between(run, node, 0), ScanIndexForward: false, Limit: 1 });
    return (await firstOf(items, 1)).map(deltaIn)[0];
  }

  #between(run: RunAddress, node: NodeKey, index: number) {
    return {
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: {
        ':pk': text(runPartition(run)),
        ':first': text(deltaSort(node, index)),
        ':last': text(lastDeltaSort(node)),
      },
    };
  }
}

const deltaAttributes = (delta: Delta, expiresAt: Instant): Item => ({
  v: itemVersion,
  a: number(delta.attempt),
  o: text(delta.owner),
  j: packed(delta.text),
  at: number(delta.at),
  [runsTableKeys.expiry]: expiry(expiresAt),
});

const deltaItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.transform(deltaIndexIn).pipe(z.int().min(0)),
  a: numberAttribute.pipe(schema.attempt),
  o: textAttribute.pipe(schema.nonce),
  j: packedAttribute,
  at: instantAttribute,
});
const deltaIn = (item: Item): Delta => {
  const { sk, a, o, j, at } = read('a delta', deltaItem, item);
  return { index: sk, attempt: a, owner: o, text: readJson('a delta', z.string(), unpack('a delta', j)), at };
};

const ownedItem = z.object({ v: itemVersionAttribute, o: textAttribute.pipe(schema.nonce) });
const ownerIn = (item: Item): Nonce => read('the owner of a delta', ownedItem, item).o;

const ticketKey = (digest: string): Key => ({ pk: partitionOf('ticket', digest), sk: 'ticket' });

/** Tickets in the control table, keyed by the digest of their text. The item has the run. */
export class DynamoTickets implements Tickets {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async put(digest: string, ticket: Ticket, retainUntil: Instant): Promise<void> {
    await this.#table.put(ticketKey(digest), ticketAttributes(ticket, retainUntil));
  }

  async ticket(digest: string): Promise<Ticket | undefined> {
    const item = await this.#table.get(ticketKey(digest));
    return item && ticketIn(item);
  }

  async redeem(digest: string, by: Nonce): Promise<boolean> {
    const changed = await this.#table.update(
      ticketKey(digest),
      { expression: 'SET takenBy = :by', values: { ':by': text(by) } },
      {
        expression: 'attribute_exists(#pk) AND (attribute_not_exists(takenBy) OR takenBy = :by)',
        names: { '#pk': controlTableKeys.partition },
      },
    );
    return changed !== undefined;
  }
}

const ticketAttributes = ({ run, keyId: id, expiresAt }: Ticket, retainUntil: Instant): Item => ({
  v: itemVersion,
  projectId: text(run.projectId),
  environment: text(run.environment),
  runId: text(run.runId),
  keyId: text(id),
  expiresAt: number(expiresAt),
  [controlTableKeys.expiry]: expiry(retainUntil),
});

const ticketItem = z.object({
  v: itemVersionAttribute,
  projectId: textAttribute.pipe(projectId),
  environment: textAttribute.pipe(environment),
  runId: textAttribute.pipe(runId),
  keyId: textAttribute.pipe(keyId),
  expiresAt: numberAttribute.pipe(instant),
});

const ticketIn = (item: Item): Ticket => {
  const { keyId: id, expiresAt, v: _v, ...run } = read('a ticket', ticketItem, item);
  return { run, keyId: id, expiresAt };
};

const leaseKey = ({ run, keyId, name }: Reader): Key => {
  const reader = JSON.stringify([run.projectId, run.environment, run.runId, keyId, name]);
  return { pk: partitionOf('reader-lease', createHash('sha256').update(reader).digest('hex')), sk: 'reader-lease' };
};

const slotPartition = partitionOf('streams');
const slotPrefix = 'slot#';
const slotKey = (slot: number): Key => ({ pk: slotPartition, sk: `${slotPrefix}${slot}` });

/**
 * Reader leases in the control table, keyed by a digest, because a reader's name is arbitrary text and may be personal
 * data. Stream slots are items of one partition, so that one query finds the free ones.
 */
export class DynamoReaderLeases implements ReaderLeases {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async acquire(reader: Reader, stream: Nonce, retainUntil: Instant): Promise<void> {
    const item = { v: itemVersion, stream: text(stream), [controlTableKeys.expiry]: expiry(retainUntil) };
    await this.#table.put(leaseKey(reader), item);
  }

  async holder(reader: Reader): Promise<Nonce | undefined> {
    const item = await this.#table.get(leaseKey(reader));
    return item && read('a reader lease', leaseItem, item).stream;
  }

  /** Tries each free slot once. A slot that another stream takes after the query counts as taken. */
  async acquireStreamSlot({ stream, maxSlots, now, until }: SlotLease): Promise<StreamSlot | undefined> {
    const held = new Set<string>();
    const query = { KeyConditionExpression: '#pk = :pk', ExpressionAttributeNames: { '#pk': controlTableKeys.partition } };
    for (const item of await allOf(
      this.#table.query({ ...query, ExpressionAttributeValues: { ':pk': text(slotPartition) }, ConsistentRead: true }),
    )) {
      const slot = read('a slot of a stream', slotItem, item);
      if (slot.until > now) held.add(slot.sk);
    }
    const free = Array.from({ length: maxSlots }, (_, slot) => slot).filter((slot) => !held.has(slotKey(slot).sk));
    const item = { v: itemVersion, stream: text(stream), until: numberOf(until), [controlTableKeys.expiry]: expiry(until) };
    for (const number of rotatedByStream(free, stream)) {
      const put = await this.#table.put(slotKey(number), item, isFreeAt(now));
      // The client repeats a put whose response was lost, and then finds its own item.
      if (put.kind === 'stored' || read('a slot of a stream', slotItem, put.existing).stream === stream)
        return { number, stream };
    }
    return undefined;
  }

  async releaseStreamSlot({ number, stream }: StreamSlot): Promise<void> {
    await this.#table.delete(slotKey(number), {
      expression: '#stream = :stream',
      names: { '#stream': 'stream' },
      values: { ':stream': text(stream) },
    });
  }
}

const isFreeAt = (now: Instant): Expression => ({
  expression: 'attribute_not_exists(#pk) OR #until <= :now',
  names: { '#pk': controlTableKeys.partition, '#until': 'until' },
  values: { ':now': numberOf(now) },
});

/** Streams that open at the same time start at different slots, to avoid conflicts. */
function rotatedByStream(slots: readonly number[], stream: Nonce): readonly number[] {
  const first = slots.length === 0 ? 0 : createHash('sha256').update(stream).digest().readUInt32BE() % slots.length;
  return [...slots.slice(first), ...slots.slice(0, first)];
}

const slotItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute,
  stream: textAttribute.pipe(nonce),
  until: instantAttribute,
});
const leaseItem = z.object({ v: itemVersionAttribute, stream: textAttribute.pipe(nonce) });

export const watchingPorts = (resources: Resources): Makers<WatchingPorts> => ({
  streams: () => new DynamoStreams(resources.runs),
  tickets: () => new DynamoTickets(resources.control),
  readerLeases: () => new DynamoReaderLeases(resources.control),
});
