/**
 * Read and write units of one DynamoDB call, by the rules of
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
 * A write is billed by the larger of the old and the new item, in whole KB, even if its condition failed. A strongly consistent read
 * is billed in units of 4 KB, an eventually consistent one at half. The consumed capacity of emulators is not used.
 */
import * as z from 'zod';
import { itemBytes, wireItem, type WireItem } from './item-size.ts';

const writeUnitBytes = 1_024;
const readUnitBytes = 4_096;

/** @param sizes item size before and after; 0 if absent. An absent item costs one unit too. */
export const writeUnits = (...sizes: readonly number[]): number => Math.max(1, Math.ceil(Math.max(...sizes) / writeUnitBytes));

export const readUnits = (bytes: number, isStrong: boolean): number =>
  Math.max(1, Math.ceil(bytes / readUnitBytes)) * (isStrong ? 1 : 0.5);

/** A keys-only index of the template. */
export interface KeysOnlyIndex {
  readonly name: string;
  readonly keys: readonly string[];
}

export interface TableShape {
  readonly name: string;
  readonly keys: readonly string[];
  readonly indexes: readonly KeysOnlyIndex[];
}

const keySchema = z.array(z.looseObject({ AttributeName: z.string() })).transform((keys) => keys.map((key) => key.AttributeName));
const tableShape = z.looseObject({
  KeySchema: keySchema,
  GlobalSecondaryIndexes: z
    .array(
      z.looseObject({
        IndexName: z.string(),
        KeySchema: keySchema,
        // Other projections are billed by their attributes, which this code does not support.
        Projection: z.looseObject({ ProjectionType: z.literal('KEYS_ONLY') }),
      }),
    )
    .default([]),
});

/** The table of a template resource. Throws if an index has an unsupported projection. */
export function tableOf(name: string, properties: unknown): TableShape {
  const { KeySchema, GlobalSecondaryIndexes } = tableShape.parse(properties);
  return {
    name,
    keys: KeySchema,
    indexes: GlobalSecondaryIndexes.map((index) => ({ name: index.IndexName, keys: index.KeySchema })),
  };
}

/** The index entry of an item; undefined if the item lacks an index key. */
function entryOf(table: TableShape, index: KeysOnlyIndex, item: WireItem | undefined): WireItem | undefined {
  if (item === undefined || index.keys.some((key) => item[key] === undefined)) return undefined;
  const names = new Set([...table.keys, ...index.keys]);
  return Object.fromEntries(Object.entries(item).filter(([name]) => names.has(name)));
}

/** Write units of an index for a change: one to add or remove an entry, two to move it, none if its keys are unchanged. */
export function indexUnits(
  table: TableShape,
  index: KeysOnlyIndex,
  before: WireItem | undefined,
  after: WireItem | undefined,
): number {
  const [left, entered] = [entryOf(table, index, before), entryOf(table, index, after)];
  const isSame = index.keys.every((key) => JSON.stringify(left?.[key]) === JSON.stringify(entered?.[key]));
  if (left !== undefined && entered !== undefined && isSame) return 0;
  return [left, entered].reduce((sum, entry) => sum + (entry === undefined ? 0 : writeUnits(itemBytes(entry))), 0);
}

const getInput = z.looseObject({ ConsistentRead: z.boolean().default(false), Key: wireItem });
const getOutput = z.looseObject({ Item: wireItem.optional() });
const queryInput = z.looseObject({ ConsistentRead: z.boolean().default(false), ProjectionExpression: z.undefined().optional() });
const queryOutput = z.looseObject({ Items: z.array(wireItem), Count: z.number(), ScannedCount: z.number() });

export function getUnits(input: unknown, output: unknown): number {
  const { Item } = getOutput.parse(output);
  return readUnits(Item === undefined ? 0 : itemBytes(Item), getInput.parse(input).ConsistentRead);
}

const batchInput = z.looseObject({
  RequestItems: z.record(z.string(), z.looseObject({ ConsistentRead: z.boolean().default(false), Keys: z.array(wireItem) })),
});
const batchOutput = z.looseObject({
  Responses: z.record(z.string(), z.array(wireItem)),
  // Unprocessed keys are not billed, and emulators return none.
  UnprocessedKeys: z.strictObject({}).optional(),
});

/** A batch is billed as single reads, one for each key. */
export function batchUnits(input: unknown, output: unknown): readonly (readonly [key: WireItem, units: number])[] {
  const { Responses } = batchOutput.parse(output);
  return Object.entries(batchInput.parse(input).RequestItems).flatMap(([table, { Keys, ConsistentRead }]) =>
    Keys.map((key) => {
      const names = Object.keys(key);
      const item = Responses[table]?.find((one) =>
        names.every((name) => JSON.stringify(one[name]) === JSON.stringify(key[name])),
      );
      return [key, readUnits(item === undefined ? 0 : itemBytes(item), ConsistentRead)] as const;
    }),
  );
}

/** A query is billed by the sum of the evaluated items. Filtered items are not in the response and are estimated by the mean size. */
export function queryUnits(input: unknown, output: unknown): number {
  const { Items, Count, ScannedCount } = queryOutput.parse(output);
  const bytes = Items.reduce((sum, item) => sum + itemBytes(item), 0);
  return readUnits(Count === 0 ? 0 : (bytes * ScannedCount) / Count, queryInput.parse(input).ConsistentRead);
}
