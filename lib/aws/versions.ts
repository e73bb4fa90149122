/** Published versions in the control table: workflows, lenses and queries. */
import * as z from 'zod';
import { type ControlKind, partitionOf } from '../contract/record-kinds.ts';
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  Advance,
  AdvanceOptions,
  Authorship,
  DeletableNames,
  Numbered,
  Summary,
  SummaryFilter,
  SummaryPage,
  VersionPage,
  VersionRecord,
  VersionStore,
} from '../ports/versions.ts';
import {
  type Item,
  number,
  present,
  text,
  itemVersion,
  anyNumber,
  anyString,
  anyInstant,
  optional,
  type ItemSchema,
  partSchema,
  keyPart,
} from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, allOf, firstOf, ifNotExists, ifExists, partitionName } from './table.ts';

/** How one kind is stored. It must not change, because stored items have this format. */
export interface Published<Version extends Numbered, Facts extends object> {
  /** the record kinds of the partition with all summaries, and of the partitions with the versions of a name */
  readonly partitions: { readonly summaries: ControlKind; readonly versions: ControlKind };
  readonly version: ItemSchema<Authorship & { readonly content: Version; readonly publishedAt: Instant }>;
  readonly summary: Pick<ItemSchema<Summary<Version, Facts>>, 'decode'>;
  /** the attributes of a summary that only this kind has */
  readonly facts: ItemSchema<Facts>;
}

/** The attributes of a version beside its content. */
export const versionAttributes = {
  publishedAt: anyInstant,
  createdBy: optional(anyString),
  note: optional(anyString),
};

/** The attributes of a summary that every kind has. */
export const summaryAttributes = {
  latestVersion: anyNumber,
  createdAt: anyInstant,
  updatedAt: anyInstant,
  archivedAt: optional(anyInstant),
  deletingSince: optional(anyInstant),
  firstVersion: optional(anyNumber),
};

export class DynamoVersions<Version extends Numbered, Facts extends object>
  implements VersionStore<Version, Facts>, DeletableNames<Version, Facts>
{
  readonly #table: Table;
  readonly #kind: Published<Version, Facts>;

  constructor(table: Table, kind: Published<Version, Facts>) {
    this.#table = table;
    this.#kind = kind;
  }

  async putVersion(scope: Scope, version: Version, at: Instant, authorship: Authorship = {}): Promise<'stored' | 'occupied'> {
    const attributes = this.#kind.version.encode({ content: version, publishedAt: at, ...authorship });
    const put = await this.#table.put(this.#versionKey(scope, version), attributes, ifNotExists);
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }

  async version(scope: Scope, name: Version['name'], version: number): Promise<Version | undefined> {
    const item = await this.#table.get(this.#versionKey(scope, { name, version }));
    return item && this.#kind.version.decode(item).content;
  }

  async versions(
    scope: Scope,
    name: Version['name'],
    { limit, before }: { readonly limit: number; readonly before?: number },
  ): Promise<VersionPage> {
    const items = this.#table.query({
      ConsistentRead: true,
      ScanIndexForward: false,
      KeyConditionExpression: before === undefined ? 'pk = :pk' : 'pk = :pk AND sk < :before',
      ProjectionExpression: 'sk, publishedAt, createdBy, note',
      ExpressionAttributeValues: present({
        ':pk': text(this.#versionPartition(scope, name)),
        ':before': before === undefined ? undefined : text(versionSort(before)),
      }),
      // A page of DynamoDB has up to 1 MB of definitions, which are not needed.
      Limit: limit + 1,
    });
    const found = (await firstOf(items, limit + 1)).map(recordIn);
    const versions = found.slice(0, limit);
    const last = versions.at(-1);
    return found.length > limit && last !== undefined ? { versions, next: last.version } : { versions };
  }

  async advance(scope: Scope, to: Advance<Version, Facts>, at: Instant, options?: AdvanceOptions): Promise<boolean> {
    const { set, values } = this.#advanceUpdate(to, at);
    const remove = options?.shouldUnarchive === true ? ' REMOVE archivedAt' : '';
    const changed = await this.#table.update(
      this.#summaryKey(scope, to.name),
      { expression: `SET ${set}, createdAt = if_not_exists(createdAt, :at)${remove}`, values },
      {
        expression: 'attribute_not_exists(#pk) OR (latestVersion < :version AND attribute_not_exists(deletingSince))',
        names: partitionName,
      },
    );
    return changed !== undefined;
  }

  #advanceUpdate(to: Advance<Version, Facts>, at: Instant): { readonly set: string; readonly values: Item } {
    const facts = Object.entries(this.#kind.facts.encode(to));
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
    return item === undefined || isFreed(item) ? undefined : this.#kind.summary.decode(item);
  }

  async list(
    scope: Scope,
    { limit, after, archived, prefix = '' }: SummaryFilter<Version['name']>,
  ): Promise<SummaryPage<Version, Facts>> {
    const items = this.#table.query({
      ConsistentRead: true,
      // A key has one condition on its sort key: this one has the names after the cursor and those of the prefix.
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':pk': text(this.#summaryPartition(scope)),
        ':from': text(after === undefined || after < prefix ? prefix || beforeNames : `${after}${beforeNames}`),
        ':to': text(`${prefix}${behindNames}`),
      },
      FilterExpression: archived ? notFreed : `${notFreed} AND attribute_not_exists(archivedAt)`,
    });
    const found = (await firstOf(items, limit + 1)).map((item) => this.#kind.summary.decode(item));
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
    return freedItem.decode(item).latestVersion;
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
    return (await allOf(items)).map((item) => versionNumberItem.decode(item).version);
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
      sk: versionSort(version),
    };
  }

  #versionPartition(scope: Scope, name: Version['name']): string {
    return partitionOf(this.#kind.partitions.versions, scopeKey(scope), name);
  }
}

/** They sort before and behind each character of a name. */
const [beforeNames, behindNames] = [' ', '~'];

const versionPrefix = 'version#';
const versionSort = (version: number): string => `${versionPrefix}${String(version).padStart(8, '0')}`;
const versionNumber = keyPart(
  'sk',
  z.string().transform((sort) => Number(sort.slice(versionPrefix.length))),
);
const versionNumberItem = partSchema('a version', { version: versionNumber });
const versionRecordItem = partSchema('a version', { version: versionNumber, ...versionAttributes });
const recordIn = (item: Item): VersionRecord => {
  const { publishedAt, ...record } = versionRecordItem.decode(item);
  return { ...record, createdAt: publishedAt };
};
const freedItem = partSchema('a freed name', { latestVersion: anyNumber });

/** A freed name has only its last version number. */
const isFreed = (item: Item): boolean => item['freed'] !== undefined;
const notFreed = 'attribute_not_exists(freed)';
const ifNotFreed: Expression = {
  expression: `attribute_exists(#pk) AND ${notFreed}`,
  names: partitionName,
};
