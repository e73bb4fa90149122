/** Published workflow versions in the control table. */
import * as z from 'zod';
import { workflowVersion } from '../codec/definition.ts';
import { workflowName } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import type { Scope, WorkflowName } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { WorkflowStore, WorkflowSummary } from '../ports/workflow-store.ts';
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

type ListOptions = Parameters<WorkflowStore['list']>[1];
type Listed = Awaited<ReturnType<WorkflowStore['list']>>;

const summaryPartition = (scope: Scope): string => `${scopeKey(scope)}#workflows`;
const summaryKey = (scope: Scope, name: WorkflowName): Key => ({ pk: summaryPartition(scope), sk: name });
const versionKey = (scope: Scope, name: WorkflowName, version: number): Key => ({
  pk: `${scopeKey(scope)}#workflow#${name}`,
  sk: `version#${String(version).padStart(8, '0')}`,
});

export class DynamoWorkflowStore implements WorkflowStore {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async putVersion(scope: Scope, version: WorkflowVersion, at: Instant): Promise<'stored' | 'occupied'> {
    const attributes = { v: itemVersion, definition: packed(version), publishedAt: number(at) };
    const put = await this.#table.put(versionKey(scope, version.name, version.version), attributes, isFree);
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }

  async version(scope: Scope, name: WorkflowName, version: number): Promise<WorkflowVersion | undefined> {
    const item = await this.#table.get(versionKey(scope, name, version));
    return item && versionIn(item);
  }

  async advance(scope: Scope, name: WorkflowName, version: number, at: Instant): Promise<void> {
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

  async summary(scope: Scope, name: WorkflowName): Promise<WorkflowSummary | undefined> {
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
    const workflows = found.slice(0, limit);
    const last = workflows.at(-1);
    return found.length > limit && last !== undefined ? { workflows, next: last.name } : { workflows };
  }

  async archive(scope: Scope, name: WorkflowName, at: Instant): Promise<boolean> {
    const changed = await this.#table.update(
      summaryKey(scope, name),
      { expression: 'SET archivedAt = if_not_exists(archivedAt, :at)', values: { ':at': number(at) } },
      { expression: 'attribute_exists(#pk)', names: { '#pk': controlTableKeys.partition } },
    );
    return changed !== undefined;
  }
}

const versionItem = z.object({ v: itemVersionAttribute, definition: packedAttribute });
const versionIn = (item: Item): WorkflowVersion => {
  const { definition } = read('a workflow version', versionItem, item);
  return readJson('a workflow version', workflowVersion, unpack('a workflow version', definition));
};

const summaryItem = z.object({
  v: itemVersionAttribute,
  sk: textAttribute.pipe(workflowName),
  latestVersion: numberAttribute,
  createdAt: instantAttribute,
  updatedAt: instantAttribute,
  archivedAt: instantAttribute.exactOptional(),
});
const summaryIn = (item: Item): WorkflowSummary => {
  const { v: _v, sk: name, ...summary } = read('a workflow', summaryItem, item);
  return { name, ...summary };
};
