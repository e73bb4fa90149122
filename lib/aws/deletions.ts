/** Workflow deletions in the control table: one partition with the records of all scopes, and one for the runs of each. */
import { foundRun, storedDeletion } from '../codec/deletions.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { RunId } from '../engine/ids.ts';
import type { DeletionKey, Deletions, FoundRun, WorkflowDeletion } from '../ports/deletions.ts';
import { type Item, number, packed, present, text, anyNumber, jsonOf, itemSchema } from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Key, type Table, allOf, firstOf, ifNotExists, ifExists } from './table.ts';

const recordsPartition = partitionOf('deletions');
const suffixOf = ({ name, throughVersion }: DeletionKey): string => `${name}#${throughVersion}`;
const recordKey = (key: DeletionKey): Key => ({ pk: recordsPartition, sk: `${scopeKey(key)}#${suffixOf(key)}` });
const runsPartition = (key: DeletionKey): string => partitionOf('deletion', scopeKey(key), suffixOf(key));

/** Requests in parallel. */
const batchSize = 16;

export class DynamoDeletions implements Deletions {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async begin(deletion: WorkflowDeletion): Promise<'stored' | 'occupied'> {
    const put = await this.#table.put(
      recordKey(deletion),
      deletionItem.encode({ revision: deletion.revision, deletion }),
      ifNotExists,
    );
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }

  async deletion(key: DeletionKey): Promise<WorkflowDeletion | undefined> {
    const item = await this.#table.get(recordKey(key));
    return item && deletionIn(item);
  }

  async all(): Promise<readonly WorkflowDeletion[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': text(recordsPartition) },
    });
    return (await allOf(items)).map(deletionIn);
  }

  async replace(deletion: WorkflowDeletion): Promise<boolean> {
    const changed = await this.#table.update(
      recordKey(deletion),
      {
        expression: 'SET revision = :revision, deletion = :deletion',
        values: { ':revision': number(deletion.revision), ':deletion': packed(deletion) },
      },
      { expression: 'revision = :before', values: { ':before': number(deletion.revision - 1) } },
    );
    return changed !== undefined;
  }

  async remove(deletion: WorkflowDeletion): Promise<void> {
    await this.#table.delete(recordKey(deletion), {
      expression: 'revision = :revision',
      values: { ':revision': number(deletion.revision) },
    });
  }

  async addRuns(key: DeletionKey, runs: readonly FoundRun[]): Promise<void> {
    await inBatches(runs, (run) =>
      this.#table.put({ pk: runsPartition(key), sk: run.runId }, runItem.encode({ run })).then(() => {}),
    );
  }

  async runs(
    key: DeletionKey,
    { limit, after }: { readonly limit: number; readonly after?: RunId },
  ): Promise<readonly FoundRun[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      Limit: limit,
      KeyConditionExpression: after === undefined ? 'pk = :pk' : 'pk = :pk AND sk > :after',
      ExpressionAttributeValues: present({
        ':pk': text(runsPartition(key)),
        ':after': after === undefined ? undefined : text(after),
      }),
    });
    return (await firstOf(items, limit)).map((item) => runItem.decode(item).run);
  }

  async removeRuns(key: DeletionKey, runIds: readonly RunId[]): Promise<void> {
    await inBatches(runIds, (runId) => this.#table.delete({ pk: runsPartition(key), sk: runId }, ifExists));
  }
}

async function inBatches<Each>(all: readonly Each[], work: (each: Each) => Promise<void>): Promise<void> {
  for (let first = 0; first < all.length; first += batchSize) await Promise.all(all.slice(first, first + batchSize).map(work));
}

/** The record, and beside it the attribute of conditions. */
const deletionItem = itemSchema('a deletion of a workflow', { revision: anyNumber, deletion: jsonOf(storedDeletion) });
const deletionIn = (item: Item): WorkflowDeletion => deletionItem.decode(item).deletion;

const runItem = itemSchema('a run of a workflow deletion', { run: jsonOf(foundRun) });
