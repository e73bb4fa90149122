/** Drafts of workflows in the control table, one item for each name. */
import { draftContent } from '../codec/definition.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Scope, WorkflowName } from '../engine/ids.ts';
import type { Draft, DraftState, Drafts } from '../ports/drafts.ts';
import { type Item, anyNumber, itemSchema, jsonOf, number, optional } from './item-schema.ts';
import { scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, ifNotExists } from './table.ts';

const draftKey = (scope: Scope, name: WorkflowName): Key => ({ pk: partitionOf('draft', scopeKey(scope), name), sk: 'draft' });

export class DynamoDrafts implements Drafts {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async read(scope: Scope, name: WorkflowName): Promise<DraftState> {
    const item = await this.#table.get(draftKey(scope, name));
    return item === undefined ? { revision: 0 } : stateOf(name, item);
  }

  async save(scope: Scope, { name, revision, ...content }: Draft): Promise<DraftState | undefined> {
    const values = attributesAs(draftItem.encode({ revision, content }));
    const isStored = await this.#replace(scope, name, revision - 1, {
      expression: 'SET v = :v, revision = :revision, content = :content',
      values,
    });
    return isStored ? undefined : this.read(scope, name);
  }

  async remove(scope: Scope, name: WorkflowName, revision: number): Promise<boolean> {
    const values = { ':revision': number(revision + 1) };
    return this.#replace(scope, name, revision, { expression: 'SET revision = :revision REMOVE content', values });
  }

  async #replace(scope: Scope, name: WorkflowName, revision: number, change: Expression): Promise<boolean> {
    return (await this.#table.update(draftKey(scope, name), change, ifRevision(revision))) !== undefined;
  }
}

const attributesAs = (item: Item): Item => Object.fromEntries(Object.entries(item).map(([name, value]) => [`:${name}`, value]));

const draftItem = itemSchema('a draft', { revision: anyNumber, content: optional(jsonOf(draftContent)) });

const stateOf = (name: WorkflowName, item: Item): DraftState => {
  const { revision, content } = draftItem.decode(item);
  return content === undefined ? { revision } : { revision, draft: { name, revision, ...content } };
};

const ifRevision = (revision: number): Expression =>
  revision === 0 ? ifNotExists : { expression: 'revision = :before', values: { ':before': number(revision) } };
