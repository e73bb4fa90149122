/**
 * Reader leases in the control table, keyed by a digest, because a reader's name is arbitrary text and may be personal
 * data. Stream slots are items of one partition, so that one query finds the free ones.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { nonce } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Reader, ReaderLeases, SlotLease, StreamSlot } from '../ports/reader-leases.ts';
import { expiry, instantAttribute, number as numberOf, text, textAttribute } from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { type Expression, type Key, type Table, allOf } from './table.ts';

const leaseKey = ({ run, keyId, name }: Reader): Key => {
  const reader = JSON.stringify([run.projectId, run.environment, run.runId, keyId, name]);
  return { pk: partitionOf('reader-lease', createHash('sha256').update(reader).digest('hex')), sk: 'reader-lease' };
};

const slotPartition = partitionOf('streams');
const slotPrefix = 'slot#';
const slotKey = (slot: number): Key => ({ pk: slotPartition, sk: `${slotPrefix}${slot}` });

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
