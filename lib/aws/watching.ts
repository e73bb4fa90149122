/** The ports for watching a run, in DynamoDB: output of running nodes, tickets, reader leases and stream slots. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Makers } from '../base/lazy.ts';
import * as schema from '../codec/ids.ts';
import { controlTableKeys } from '../contract/environment.ts';
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
import { type Item, number, text, numberOf, anyInstant, stringOf, jsonOf, named, keyPart, itemSchema } from './item-schema.ts';
import type { Resources } from './resources.ts';
import { deltaIndexIn, deltaKey, deltaSort, lastDeltaSort, runPartition } from './run-keys.ts';
import { type Table, firstOf, ifNotExists, type Key, type Expression, allOf, partitionName } from './table.ts';

/** Streams of running nodes, as items beside the run's log. */
export class DynamoStreams implements Streams {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async put(run: RunAddress, node: NodeKey, delta: Delta, expiresAt: Instant): Promise<DeltaPut> {
    const put = await this.#table.put(deltaKey(run, node, delta.index), deltaItem.encode(delta, expiresAt), ifNotExists);
    return put.kind === 'stored' ? put : { kind: 'occupied', owner: ownedItem.decode(put.existing).owner };
  }

  async from(run: RunAddress, node: NodeKey, index: number, limit: number): Promise<readonly Delta[]> {
    const items = this.#table.query({ ...this.#between(run, node, index), Limit: limit });
    return (await firstOf(items, limit)).map(deltaItem.decode);
  }

  async last(run: RunAddress, node: NodeKey): Promise<Delta | undefined> {
    const items = this.#table.query({ ...this.#between(run, node, 0), ScanIndexForward: false, Limit: 1 });
    return (await firstOf(items, 1)).map(deltaItem.decode)[0];
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

const owner = named('o', stringOf(schema.nonce));
const deltaItem = itemSchema('a delta', {
  index: keyPart('sk', z.string().transform(deltaIndexIn).pipe(z.int().min(0))),
  attempt: named('a', numberOf(schema.attempt)),
  owner,
  text: named('j', jsonOf(z.string())),
  at: anyInstant,
});
const ownedItem = itemSchema('the owner of a delta', { owner });

const ticketKey = (digest: string): Key => ({ pk: partitionOf('ticket', digest), sk: 'ticket' });

/** Tickets in the control table, keyed by the digest of their text. The item has the run. */
export class DynamoTickets implements Tickets {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async put(digest: string, ticket: Ticket, retainUntil: Instant): Promise<void> {
    await this.#table.put(ticketKey(digest), ticketItem.encode({ ...ticket.run, ...ticket }, retainUntil));
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
        names: partitionName,
      },
    );
    return changed !== undefined;
  }
}

const ticketItem = itemSchema('a ticket', {
  projectId: stringOf(schema.projectId),
  environment: stringOf(schema.environment),
  runId: stringOf(z.union([schema.runId, schema.externalRunId])),
  keyId: stringOf(schema.keyId),
  expiresAt: anyInstant,
});

const ticketIn = (item: Item): Ticket => {
  const { keyId, expiresAt, ...run } = ticketItem.decode(item);
  return { run, keyId, expiresAt };
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
    await this.#table.put(leaseKey(reader), leaseItem.encode({ stream }, retainUntil));
  }

  async holder(reader: Reader): Promise<Nonce | undefined> {
    const item = await this.#table.get(leaseKey(reader));
    return item && leaseItem.decode(item).stream;
  }

  /** Tries each free slot once. A slot that another stream takes after the query counts as taken. */
  async acquireStreamSlot({ stream, maxSlots, now, until }: SlotLease): Promise<StreamSlot | undefined> {
    const held = new Set<string>();
    const query = { KeyConditionExpression: '#pk = :pk', ExpressionAttributeNames: { '#pk': controlTableKeys.partition } };
    for (const item of await allOf(
      this.#table.query({ ...query, ExpressionAttributeValues: { ':pk': text(slotPartition) }, ConsistentRead: true }),
    )) {
      const slot = slotItem.decode(item);
      if (slot.until > now) held.add(slot.sort);
    }
    const free = Array.from({ length: maxSlots }, (_, slot) => slot).filter((slot) => !held.has(slotKey(slot).sk));
    for (const slot of rotatedByStream(free, stream)) {
      const key = slotKey(slot);
      const put = await this.#table.put(key, slotItem.encode({ sort: key.sk, stream, until }, until), isFreeAt(now));
      // The client repeats a put whose response was lost, and then finds its own item.
      if (put.kind === 'stored' || slotItem.decode(put.existing).stream === stream) return { number: slot, stream };
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
  values: { ':now': number(now) },
});

/** Streams that open at the same time start at different slots, to avoid conflicts. */
function rotatedByStream(slots: readonly number[], stream: Nonce): readonly number[] {
  const first = slots.length === 0 ? 0 : createHash('sha256').update(stream).digest().readUInt32BE() % slots.length;
  return [...slots.slice(first), ...slots.slice(0, first)];
}

const slotItem = itemSchema('a slot of a stream', {
  sort: keyPart('sk', z.string()),
  stream: stringOf(schema.nonce),
  until: anyInstant,
});
const leaseItem = itemSchema('a reader lease', { stream: stringOf(schema.nonce) });

export const watchingPorts = (resources: Resources): Makers<WatchingPorts> => ({
  streams: () => new DynamoStreams(resources.runs),
  tickets: () => new DynamoTickets(resources.control),
  readerLeases: () => new DynamoReaderLeases(resources.control),
});
