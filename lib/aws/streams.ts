/** Streams of running nodes, as items beside the run's log. */
import * as z from 'zod';
import * as schema from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import type { Nonce, NodeKey, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Delta, DeltaPut, Streams } from '../ports/streams.ts';
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
} from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { deltaIndexIn, deltaKey, deltaSort, lastDeltaSort, runPartition } from './run-keys.ts';
import { type Table, firstOf, ifNotExists } from './table.ts';

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
