/** Published queries in the control table. */
import * as z from 'zod';
import { queryName } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { queryKind, queryVersion } from '../codec/query.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import type { QueryName, Scope } from '../engine/ids.ts';
import type { QueryVersion } from '../engine/query/definition.ts';
import type { Instant } from '../engine/time.ts';
import type { Queries, QuerySummary } from '../ports/queries.ts';
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

type ListOptions = Parameters<Queries['list']>[1];
type Listed = Awaited<ReturnType<Queries['list']>>;

const summaryPartition = (scope: Scope): string => `${scopeKey(scope)}#queries`;
const summaryKey = (scope: Scope, name: QueryName): Key => ({ pk: summaryPartition(scope), sk: name });
const versionKey = (scope: Scope, name: QueryName, version: number): Key => ({
  pk: `${scopeKey(scope)}#query#${name}`,
  sk: `version#${String(version).padStart(8, '0')}`,
});

export class DynamoQueries implements Queries {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async putVersion(scope: Scope, query: QueryVersion, at: Instant): Promise<'stored' | 'occupied'> {
    const attributes = { v: itemVersion, definition: packed(query), publishedAt: number(at) };
    const put = await this.#table.put(versionKey(scope, query.name, query.version), attributes, isFree);
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }

  async version(scope: Scope, name: QueryName, version: number): Promise<QueryVersion | undefined> {
    const item = await this.#table.get(versionKey(scope, name, version));
    return item && versionIn(item);
  }

  async advance(scope: Scope, { name, kind, version }: Parameters<Queries['advance']>[1], at: Instant): Promise<void> {
    await this.#table.update(
      summaryKey(scope, name),
      {
        expression:
          'SET v = :v, kind = :kind, latestVersion = :version, updatedAt = :at, createdAt = if_not_exists(createdAt, :at)',
        values: { ':v': itemVersion, ':kind': text(kind), ':version': number(version), ':at': number(at) },
      },
      { expression: 'attribute_not_exists(#pk) OR latestVersion < :version', names: { '#pk': controlTableKeys.partition } },
    );
  }

  async summary(scope: Scope, name: QueryName): Promise<QuerySummary | undefined> {
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
    const queries = found.slice(0, limit);
    const last = queries.at(-1);
    return found.length > limit && last !== undefined ? { queries, next: last.name } : { queries };
  }

  async archive(scope: Scope, name: QueryName, at: Instant): Promise<boolean> {
    const changed = await this.#table.update(
      summaryKey(scope, name),
      { expression: 'SET archivedAt = if_not_exists(archivedAt, :at)', values: { ':at': number(at) } },
      { expression: 'attribute_exists(#pk)', names: { '#pk': controlTableKeys.partition } },
    );
    return changed !== undefined;
  }
}

const versionItem = z.object({ v: itemVersionAttribute, definition: packedAttribute });
const versionIn = (item: Item): QueryVersion => {
  const { definition } = read('a query', versionItem, item);
  return readJson('a query', queryVersion, unpack('a query', definition));
};

const summaryItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.pipe(queryName),
  kind: textAttribute.pipe(queryKind),
  latestVersion: numberAttribute,
  createdAt: instantAttribute,
  updatedAt: instantAttribute,
  archivedAt: instantAttribute.exactOptional(),
});
const summaryIn = (item: Item): QuerySummary => {
  const { v: _v, sk: name, ...summary } = read('a summary of a query', summaryItem, item);
  return { name, ...summary };
};
