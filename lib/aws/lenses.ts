/** Lenses in the control table. */
import * as z from 'zod';
import { lensName } from '../codec/ids.ts';
import { lensVersion } from '../codec/lens.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import type { LensName, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { LensSummary, LensVersion, Lenses } from '../ports/lenses.ts';
import {
  type Item,
  instantAttribute,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  text,
  textAttribute,
} from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';
import { scopeKey } from './run-keys.ts';
import { type Key, type Table, firstOf, isFree } from './table.ts';

type ListOptions = Parameters<Lenses['list']>[1];
type Listed = Awaited<ReturnType<Lenses['list']>>;

const summaryPartition = (scope: Scope): string => `${scopeKey(scope)}#lenses`;
const summaryKey = (scope: Scope, name: LensName): Key => ({ pk: summaryPartition(scope), sk: name });
const versionKey = (scope: Scope, name: LensName, version: number): Key => ({
  pk: `${scopeKey(scope)}#lens#${name}`,
  sk: `version#${String(version).padStart(8, '0')}`,
});

export class DynamoLenses implements Lenses {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async putVersion(scope: Scope, version: LensVersion, at: Instant): Promise<'stored' | 'occupied'> {
    const attributes = { v: itemVersion, lens: packed(version), publishedAt: number(at) };
    const put = await this.#table.put(versionKey(scope, version.name, version.version), attributes, isFree);
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }

  async version(scope: Scope, name: LensName, version: number): Promise<LensVersion | undefined> {
    const item = await this.#table.get(versionKey(scope, name, version));
    return item && versionIn(item);
  }

  async advance(scope: Scope, name: LensName, version: number, at: Instant): Promise<void> {
    await this.#table.update(
      summaryKey(scope, name),
      {
        expression: 'SET v = :v, latestVersion = :version, updatedAt = :at, createdAt = if_not_exists(createdAt, :at)',
        values: { ':v': itemVersion, ':version': number(version), ':at': number(at) },
      },
      {
        expression: 'attribute_not_exists(#pk) OR latestVersion < :version',
        names: { '#pk': controlTableKeys.partition },
      },
    );
  }

  async summary(scope: Scope, name: LensName): Promise<LensSummary | undefined> {
    const item = await this.#table.get(summaryKey(scope, name));
    return item && summaryIn(item);
  }

  async list(scope: Scope, { limit, after, archived }: ListOptions): Promise<Listed> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: { ':pk': text(summaryPartition(scope)), ...(after && { ':after': text(after) }) },
      ...(!archived && { FilterExpression: 'attribute_not_exists(archivedAt)' }),
    });
    const found = (await firstOf(items, limit + 1)).map(summaryIn);
    const lenses = found.slice(0, limit);
    const last = lenses.at(-1);
    return found.length > limit && last !== undefined ? { lenses, next: last.name } : { lenses };
  }

  async archive(scope: Scope, name: LensName, at: Instant): Promise<boolean> {
    const changed = await this.#table.update(
      summaryKey(scope, name),
      { expression: 'SET archivedAt = if_not_exists(archivedAt, :at)', values: { ':at': number(at) } },
      { expression: 'attribute_exists(#pk)', names: { '#pk': controlTableKeys.partition } },
    );
    return changed !== undefined;
  }
}

const versionItem = z.object({ v: itemVersionAttribute, lens: packedAttribute });
const versionIn = (item: Item): LensVersion => {
  const { lens } = read('a lens version', versionItem, item);
  return readJson('a lens version', lensVersion, unpack('a lens version', lens));
};

const summaryItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.pipe(lensName),
  latestVersion: numberAttribute,
  createdAt: instantAttribute,
  updatedAt: instantAttribute,
  archivedAt: instantAttribute.exactOptional(),
});
const summaryIn = (item: Item): LensSummary => {
  const { v: _v, sk: name, ...summary } = read('a lens', summaryItem, item);
  return { name, ...summary };
};
