/** Tracks the items of the tables from recorded writes: an update contains only changes but is billed by the whole item. */
import * as z from 'zod';
import type { TableShape } from './capacity.ts';
import { wireItem, type WireItem } from './item-size.ts';

export interface Change {
  readonly table: TableShape;
  readonly key: WireItem;
  readonly before: WireItem | undefined;
  readonly after: WireItem | undefined;
  /** the item of the put, even if its condition failed */
  readonly requested: WireItem | undefined;
  readonly isRefused: boolean;
}

const putInput = z.looseObject({ TableName: z.string(), Item: wireItem });
const deleteInput = z.looseObject({ TableName: z.string(), Key: wireItem });
const updateInput = z.looseObject({
  TableName: z.string(),
  Key: wireItem,
  UpdateExpression: z.string(),
  ExpressionAttributeNames: z.record(z.string(), z.string()).default({}),
  // Afterwards, only the attributes in the response are known.
  ReturnValues: z.literal('UPDATED_NEW'),
});
const updateOutput = z.looseObject({ Attributes: wireItem.default({}) });
const errorOutput = z.looseObject({ __type: z.string() });

const isConditionFailure = (output: unknown): boolean =>
  errorOutput.safeParse(output).data?.__type.endsWith('ConditionalCheckFailedException') === true;

/** Top-level attribute names after `REMOVE` in an update expression. */
function removedNames(expression: string, names: Readonly<Record<string, string>>): readonly string[] {
  const clause = /\bREMOVE\s+(.*?)(?=\s+(?:SET|ADD|DELETE)\s|$)/s.exec(expression)?.[1];
  return (clause ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) => names[name] ?? name);
}

export class ItemShadow {
  readonly #tables: ReadonlyMap<string, TableShape>;
  readonly #items = new Map<string, WireItem>();

  constructor(tables: readonly TableShape[]) {
    this.#tables = new Map(tables.map((table) => [table.name, table]));
  }

  /** Applies one write. Undefined if it neither succeeded nor failed its condition. Throws for unknown operations. */
  follow(operation: string, input: unknown, status: number, output: unknown): Change | undefined {
    const isRefused = isConditionFailure(output);
    if (status !== 200 && !isRefused) return undefined;
    const { TableName, requested, Key, changed } = this.#read(operation, input, isRefused ? {} : output);
    const table = this.#tables.get(TableName);
    if (table === undefined) throw new Error(`a call names the table ${TableName}, which no stack has`);
    const key = keyOf(table, Key);
    const itemKey = `${TableName} ${JSON.stringify(key)}`;
    const before = this.#items.get(itemKey);
    if (isRefused) return { table, key, before, after: before, requested, isRefused };
    const after = changed(before ?? key);
    if (after === undefined) this.#items.delete(itemKey);
    else this.#items.set(itemKey, after);
    return { table, key, before, after, requested, isRefused };
  }

  #read(operation: string, input: unknown, output: unknown) {
    switch (operation) {
      case 'PutItem': {
        const { TableName, Item } = putInput.parse(input);
        return { TableName, Key: Item, requested: Item, changed: (): WireItem | undefined => Item };
      }
      case 'DeleteItem': {
        const { TableName, Key } = deleteInput.parse(input);
        return { TableName, Key, requested: undefined, changed: (): WireItem | undefined => undefined };
      }
      case 'UpdateItem': {
        const { TableName, Key, UpdateExpression, ExpressionAttributeNames } = updateInput.parse(input);
        const { Attributes } = updateOutput.parse(output);
        const removed = new Set(removedNames(UpdateExpression, ExpressionAttributeNames));
        const changed = (before: WireItem): WireItem | undefined => ({
          ...Object.fromEntries(Object.entries(before).filter(([name]) => !removed.has(name))),
          ...Attributes,
        });
        return { TableName, Key, requested: undefined, changed };
      }
      default:
        throw new Error(`the bill does not know how ${operation} is billed`);
    }
  }
}

const keyOf = (table: TableShape, item: WireItem): WireItem =>
  Object.fromEntries(Object.entries(item).filter(([name]) => table.keys.includes(name)));
