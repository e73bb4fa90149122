/**
 * Asks Aurora by the RDS Data API, which takes `:name` and the arguments beside the text. Four requests: a transaction's
 * beginning, its settings, the statement, its end.
 */
import { mainHandle } from '../../engine/graph/outcome.ts';
import { type JsonObject, inline } from '../../engine/json.ts';
import type { AuroraQuery } from '../../engine/query/definition.ts';
import { readStatement } from '../../engine/query/statement.ts';
import type { Scope } from '../../engine/ids.ts';
import type { AskedStatement, DatabasePlace, Databases, Table } from '../../ports/databases.ts';
import { type RunResult, failed } from '../runner.ts';
import { failureOf, timedOut, tooLarge } from './aurora-failure.ts';
import { jsonOf } from './aurora-values.ts';

/** What a worker has of the databases that the configuration names. */
export interface DatabaseWorld {
  /** undefined: the setting has none of that name for that project and environment */
  placeOf(scope: Scope, name: string): Promise<DatabasePlace | undefined>;
  /** loaded when the first is asked */
  service(): Promise<Databases>;
}

interface Asked {
  readonly query: AuroraQuery & { readonly version: number };
  readonly values: JsonObject;
  readonly place: DatabasePlace;
  readonly databases: Databases;
  readonly limitMs: number;
  /** the limit, or whatever else ends the attempt */
  readonly signal: AbortSignal;
}

/** For telling the database that nobody waits any more. It ends the statement by its own limit too. */
const rollbackWithinMs = 1_500;

export async function askAurora({ query, values, place, databases, limitMs, signal }: Asked): Promise<RunResult> {
  const statement = readStatement(query.statement);
  if ('fault' in statement) return failed({ cause: 'invalid', code: 'query_invalid', message: statement.fault });
  const asked: AskedStatement = {
    sql: query.statement,
    arguments: statement.names.map((name) => ({ name, value: values[name] ?? null })),
  };
  const trouble = { query, values, limitMs };
  let open: string | undefined;
  try {
    const begun = await databases.begin(place, signal);
    if ('fault' in begun) return failed(failureOf(begun.fault, trouble));
    open = begun.transaction;
    const set = await databases.execute(place, open, settingsOf(query.readOnly, limitMs), signal);
    if ('fault' in set) return failed(failureOf(set.fault, trouble));
    const answer = await databases.execute(place, open, asked, signal);
    if ('fault' in answer) return failed(failureOf(answer.fault, trouble));
    const rows = rowsOf(answer.table, query);
    if (typeof rows === 'string') return failed(tooLarge(rows));
    if (!query.readOnly) {
      const committed = await databases.commit(place, open, signal);
      if ('fault' in committed) return failed(failureOf(committed.fault, trouble));
      open = undefined;
    }
    const output = { rows, rowCount: rows.length, query: query.name, version: query.version };
    return { outcome: { kind: 'finished', output: inline(output), handle: mainHandle }, printed: [] };
  } catch (error) {
    if (signal.aborted) return failed(timedOut(trouble));
    throw error;
  } finally {
    // Where it cannot be told, the service ends a transaction that nobody uses after three minutes.
    if (open !== undefined) await databases.rollback(place, open, AbortSignal.timeout(rollbackWithinMs)).catch(() => undefined);
  }
}

/**
 * For this transaction alone. Set by a query, it has its snapshot from then on: after one Postgres lets nobody turn `read
 * only` off. Nothing in the text comes from a query or an argument.
 */
const settingsOf = (readOnly: boolean, limitMs: number): AskedStatement => ({
  sql: [
    `select set_config('statement_timeout', :limit, true), set_config('TimeZone', 'UTC', true)`,
    `set_config('DateStyle', 'ISO', true), set_config('transaction_read_only', :readOnly, true)`,
  ].join(', '),
  arguments: [
    { name: 'limit', value: String(Math.ceil(limitMs)) },
    { name: 'readOnly', value: readOnly ? 'on' : 'off' },
  ],
});

/** All rows, or which bound there are more than. */
function rowsOf({ columns, rows }: Table, { maxRows, maxBytes }: AuroraQuery): readonly JsonObject[] | string {
  if (rows.length > maxRows) return `more than ${maxRows} rows`;
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map(({ name, type }, at) => [name, jsonOf(row[at] ?? null, type)])),
  );
  const bytes = objects.reduce((sum, object) => sum + Buffer.byteLength(JSON.stringify(object)), 0);
  return bytes > maxBytes ? `more than ${maxBytes} bytes` : objects;
}
