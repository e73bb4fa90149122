/** Published versions in the control table: workflows, lenses and queries. */
import * as z from 'zod';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { type ControlKind, partitionOf } from '../contract/record-kinds.ts';
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  Advance,
  AdvanceOptions,
  DeletableNames,
  Numbered,
  Summary,
  SummaryFilter,
  SummaryPage,
  VersionStore,
} from '../ports/versions.ts';
import {
  type Item,
  instantAttribute,
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
import { type Expression, type Key, type Table, allOf, firstOf, ifNotExists, ifExists } from './table.ts';

/** How one kind is stored. It must not change, because stored items have this format. */
export interface Published<Version extends Numbered, Facts extends object> {
  /** the kind in error messages, for example `a workflow` */
  readonly what: string;
  /** the record kinds of the partition with all summaries, and of the partitions with the versions of a name */
  readonly partitions: { readonly summaries: ControlKind; readonly versions: ControlKind };
  /** the attribute of a version's content, and its schema */
  readonly content: { readonly attribute: string; readonly schema: z.ZodType<Version> };
  readonly name: z.ZodType<Version['name']>;
  /** the attributes of a summary that only this kind has */
  readonly facts: { readonly schema: z.ZodType<Facts>; readonly attributes: (facts: Facts) => Item };
}

export class DynamoVersions<Version extends Numbered, Facts extends object>
  implements VersionStore<Version, Facts>, DeletableNames<Version, Facts>
{
  readonly #table: Table;
  readonly #kind: Published<Version, Facts>;

  constructor(table: Table, kind: Published<Version, Facts>) {
    this.#table = table;
    this.#kind = kind;
  }

  async putVersion(scope: Scope, version: Version, at: Instant): Promise<'stored' | 'occupied'> {
    const attributes = { v: itemVersion, [this.#kind.content.attribute]: packed(version), publishedAt: number(at) };
    const put = await this.#table.put(this.#versionKey(scope, version), attributes, ifNotExists);
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }

  async version(scope: Scope, name: Version['name'], version: number): Promise<Version | undefined> {
    const item = await this.#table.get(this.#versionKey(scope, { name, version }));
    if (item === undefined) return undefined;
    const { attribute, schema } = this.#kind.content;
    const what = `${this.#kind.what} version`;
    read(what, z.object({ v: itemVersionAttribute }), item);
    return readJson(what, schema, unpack(what, read(what, packedAttribute, item[attribute])));
  }

  async advance(scope: Scope, to: Advance<Version, Facts>, at: Instant, options?: AdvanceOptions): Promise<boolean> {
    const { set, values } = this.#advanceUpdate(to, at);
    const remove = options?.shouldUnarchive === true ? ' REMOVE archivedAt' : '';
    const changed = await this.#table.update(
      this.#summaryKey(scope, to.name),
      { expression: `SET ${set}, createdAt = if_not_exists(createdAt, :at)${remove}`, values },
      {
        expression: 'attribute_not_exists(#pk) OR (latestVersion < :version AND attribute_not_exists(deletingSince))',
        names: { '#pk': controlTableKeys.partition },
      },
    );
    return changed !== undefined;
  }

  #advanceUpdate(to: Advance<Version, Facts>, at: Instant): { readonly set: string; readonly values: Item } {
    const facts = Object.entries(this.#kind.facts.attributes(to));
    return {
      set:
        ['v', ...facts.map(([name]) => name)].map((name) => `${name} = :${name}, `).join('') +
        'latestVersion = :version, updatedAt = :at',
      values: {
        ':v': itemVersion,
        ...Object.fromEntries(facts.map(([name, value]) => [`:${name}`, value])),
        ':version': number(to.version),
        ':at': number(at),
      },
    };
  }

  async summary(scope: Scope, name: Version['name']): Promise<Summary<Version, Facts> | undefined> {
    const item = await this.#table.get(this.#summaryKey(scope, name));
    return item === undefined || isFreed(item) ? undefined : this.#summaryIn(item);
  }

  async list(scope: Scope, { limit, after, archived }: SummaryFilter<Version['name']>): Promise<SummaryPage<Version, Facts>> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: present({
        ':pk': text(this.#summaryPartition(scope)),
        ':after': after === undefined ? undefined : text(after),
      }),
      FilterExpression: archived ? notFreed : `${notFreed} AND attribute_not_exists(archivedAt)`,
    });
    const found = (await firstOf(items, limit + 1)).map((item) => this.#summaryIn(item));
    const summaries = found.slice(0, limit);
    const last = summaries.at(-1);
    return found.length > limit && last !== undefined ? { summaries, next: last.name } : { summaries };
  }

  async archive(scope: Scope, name: Version['name'], at: Instant): Promise<boolean> {
    const changed = await this.#table.update(
      this.#summaryKey(scope, name),
      { expression: 'SET archivedAt = if_not_exists(archivedAt, :at)', values: { ':at': number(at) } },
      ifNotFreed,
    );
    return changed !== undefined;
  }

  async close(scope: Scope, { name, version }: Pick<Version, 'name' | 'version'>, at: Instant): Promise<boolean> {
    const changed = await this.#table.update(
      this.#summaryKey(scope, name),
      { expression: 'SET deletingSince = if_not_exists(deletingSince, :at)', values: { ':at': number(at) } },
      { expression: `latestVersion = :version AND ${notFreed}`, values: { ':version': number(version) } },
    );
    return changed !== undefined;
  }

  async free(scope: Scope, { name, version }: Pick<Version, 'name' | 'version'>): Promise<void> {
    await this.#table.update(
      this.#summaryKey(scope, name),
      { expression: 'SET freed = :freed', values: { ':freed': number(1) } },
      {
        expression: `attribute_exists(deletingSince) AND latestVersion = :version AND ${notFreed}`,
        values: { ':version': number(version) },
      },
    );
  }

  async freedAfter(scope: Scope, name: Version['name']): Promise<number | undefined> {
    const item = await this.#table.get(this.#summaryKey(scope, name));
    if (item === undefined || !isFreed(item)) return undefined;
    return read(this.#kind.what, z.object({ latestVersion: numberAttribute }), item).latestVersion;
  }

  async skipTo(scope: Scope, name: Version['name'], to: number): Promise<boolean> {
    const changed = await this.#table.update(
      this.#summaryKey(scope, name),
      { expression: 'SET latestVersion = :version', values: { ':version': number(to) } },
      { expression: 'attribute_exists(freed) AND latestVersion < :version' },
    );
    return changed !== undefined;
  }

  async reopen(scope: Scope, to: Advance<Version, Facts>, at: Instant): Promise<boolean> {
    const { set, values } = this.#advanceUpdate(to, at);
    const changed = await this.#table.update(
      this.#summaryKey(scope, to.name),
      { expression: `SET ${set}, firstVersion = :version, createdAt = :at REMOVE archivedAt, deletingSince, freed`, values },
      { expression: 'attribute_exists(freed) AND latestVersion < :version' },
    );
    return changed !== undefined;
  }

  async versionNumbers(scope: Scope, name: Version['name']): Promise<readonly number[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk',
      ProjectionExpression: 'sk',
      ExpressionAttributeValues: { ':pk': text(this.#versionPartition(scope, name)) },
    });
    const sorts = (await allOf(items)).map(
      (item) => read(`${this.#kind.what} version`, z.object({ sk: textAttribute }), item).sk,
    );
    return sorts.map((sort) => Number(sort.slice(versionPrefix.length)));
  }

  async removeVersion(scope: Scope, name: Version['name'], version: number): Promise<void> {
    await this.#table.delete(this.#versionKey(scope, { name, version }), ifExists);
  }

  #summaryPartition(scope: Scope): string {
    return partitionOf(this.#kind.partitions.summaries, scopeKey(scope));
  }

  #summaryKey(scope: Scope, name: Version['name']): Key {
    return { pk: this.#summaryPartition(scope), sk: name };
  }

  #versionKey(scope: Scope, { name, version }: Numbered): Key {
    return {
      pk: this.#versionPartition(scope, name),
      sk: `${versionPrefix}${String(version).padStart(8, '0')}`,
    };
  }

  #versionPartition(scope: Scope, name: Version['name']): string {
    return partitionOf(this.#kind.partitions.versions, scopeKey(scope), name);
  }

  #summaryIn(item: Item): Summary<Version, Facts> {
    const { what, facts, name } = this.#kind;
    const { v: _v, sk, ...summary } = read(what, summaryItem, item);
    return { ...read(what, facts.schema, item), name: read(what, name, sk), ...summary };
  }
}

const summaryItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute,
  latestVersion: numberAttribute,
  createdAt: instantAttribute,
  updatedAt: instantAttribute,
  archivedAt: instantAttribute.exactOptional(),
  deletingSince: instantAttribute.exactOptional(),
  firstVersion: numberAttribute.exactOptional(),
});

const versionPrefix = 'version#';

/** A freed name has only its last version number. */
const isFreed = (item: Item): boolean => item['freed'] !== undefined;
const notFreed = 'attribute_not_exists(freed)';
const ifNotFreed: Expression = {
  expression: `attribute_exists(#pk) AND ${notFreed}`,
  names: { '#pk': controlTableKeys.partition },
};
