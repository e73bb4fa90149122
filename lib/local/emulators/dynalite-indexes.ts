/**
 * Rebuilds dynalite's global indexes from its tables. dynalite writes table and index separately, so a kill in between leaves
 * the index inconsistent permanently. The rebuild runs before the database is served again.
 */
import { createRequire } from 'node:module';
import * as z from 'zod';

interface Level {
  open(): Promise<void>;
  close(): Promise<void>;
  put(key: string, value: unknown): Promise<void>;
  clear(range: { readonly gte: string; readonly lt: string }): Promise<void>;
  iterator(range: { readonly gte: string; readonly lt: string }): AsyncIterable<readonly [string, unknown]>;
}

interface DynaliteParts {
  readonly Level: new (path: string, options: { readonly valueEncoding: 'json' }) => Level;
  readonly getIndexActions: (indexes: unknown, existing: undefined, item: unknown, table: unknown) => unknown;
}

const isDynaliteParts = (value: unknown): value is DynaliteParts =>
  typeof value === 'object' &&
  value !== null &&
  'Level' in value &&
  typeof value.Level === 'function' &&
  'getIndexActions' in value &&
  typeof value.getIndexActions === 'function';

function loadParts(): DynaliteParts {
  const require = createRequire(import.meta.url);
  const dynalite = createRequire(require.resolve('dynalite'));
  const level: object = dynalite('level');
  const database: object = dynalite('./db');
  const parts: unknown = { ...level, ...database };
  if (!isDynaliteParts(parts))
    throw new Error('The installed dynalite has another version than the embedded cloud expects: run npm ci');
  return parts;
}

const tableShape = z.looseObject({ TableName: z.string(), GlobalSecondaryIndexes: z.array(z.unknown()).default([]) });
const actionsShape = z.object({ puts: z.array(z.object({ index: z.string(), key: z.string(), item: z.unknown() })) });

/** dynalite's keys start with the name of their table or index, then `~`. */
const keyRange = (prefix: string) => ({ gte: `${prefix}~`, lt: `${prefix}~\xFF` });

/** Requires exclusive access to the database. Returns the number of index entries. */
export async function rebuildIndexes(path: string): Promise<number> {
  const { Level, getIndexActions } = loadParts();
  const database = new Level(path, { valueEncoding: 'json' });
  await database.open();
  let entries = 0;
  try {
    await database.clear(keyRange('index-global'));
    for await (const [, value] of database.iterator(keyRange('table'))) {
      const table = tableShape.parse(value);
      if (table.GlobalSecondaryIndexes.length === 0) continue;
      for await (const [, item] of database.iterator(keyRange(`item-${table.TableName}`))) {
        const actions = actionsShape.parse(getIndexActions(table.GlobalSecondaryIndexes, undefined, item, table));
        for (const put of actions.puts) {
          await database.put(`index-global~${table.TableName}~${put.index}~${put.key}`, put.item);
          entries++;
        }
      }
    }
  } finally {
    await database.close();
  }
  return entries;
}
