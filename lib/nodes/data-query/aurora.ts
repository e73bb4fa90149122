/**
 * Runs a query on Aurora through the RDS Data API, with named parameters (`:name`). It sends four requests: begin the transaction,
 * its settings, the statement, and commit or roll back.
 */
import { mainHandle } from '../../engine/graph/outcome.ts';
import { type JsonObject, inline } from '../../engine/json.ts';
import type { AuroraQuery } from '../../engine/query/definition.ts';
import { parseStatement } from '../../engine/query/statement.ts';
import type { Scope } from '../../engine/ids.ts';
import type { SqlStatement, DatabaseTarget, Databases, Table } from '../../ports/databases.ts';
import { type RunResult, failed } from '../runner.ts';
import { failureOf, timedOut, tooLarge } from './aurora-failure.ts';
import { jsonOf } from './aurora-values.ts';

/** A worker's access to the databases of the configuration. */
export interface DatabasePorts {
  /** undefined when the setting has no such database for the project and environment */
  targetOf(scope: Scope, name: string): Promise<DatabaseTarget | undefined>;
  /** loaded at the first query */
  service(): Promise<Databases>;
}

interface AuroraCall {
  readonly query: AuroraQuery & { readonly version: number };
  readonly values: JsonObject;
  readonly target: DatabaseTarget;
  readonly databases: Databases;
  readonly limitMs: number;
  /** aborted at the time limit, or when the attempt must end */
  readonly signal: AbortSignal;
}

/** Time limit of the rollback. If it fails, the database's statement timeout ends the statement. */
const rollbackTimeoutMs = 1_500;

export async function queryAurora({ query, values, target, databases, limitMs, signal }: AuroraCall): Promise<RunResult> {
  const statement = parseStatement(query.statement);
  if ('error' in statement) return failed({ cause: 'invalid', code: 'query_invalid', message: statement.error });
  const sqlStatement: SqlStatement = {
    sql: query.statement,
    arguments: statement.names.map((name) => ({ name, value: values[name] ?? null })),
  };
  const context = { query, values, limitMs };
  let openTransaction: string | undefined;
  try {
    const begun = await databases.begin(target, signal);
    if ('error' in begun) return failed(failureOf(begun.error, context));
    openTransaction = begun.transaction;
    const settingsResult = await databases.execute(target, openTransaction, settingsOf(query.readOnly, limitMs), signal);
    if ('error' in settingsResult) return failed(failureOf(settingsResult.error, context));
    const result = await databases.execute(target, openTransaction, sqlStatement, signal);
    if ('error' in result) return failed(failureOf(result.error, context));
    const rows = rowsOf(result.table, query);
    if (typeof rows === 'string') return failed(tooLarge(rows));
    if (!query.readOnly) {
      const committed = await databases.commit(target, openTransaction, signal);
      if ('error' in committed) return failed(failureOf(committed.error, context));
      openTransaction = undefined;
    }
    const output = { rows, rowCount: rows.length, query: query.name, version: query.version };
    return { outcome: { kind: 'finished', output: inline(output), handle: mainHandle }, printed: [] };
  } catch (error) {
    if (signal.aborted) return failed(timedOut(context));
    throw error;
  } finally {
    // If the rollback fails, the service ends the idle transaction after three minutes.
    if (openTransaction !== undefined)
      await databases.rollback(target, openTransaction, AbortSignal.timeout(rollbackTimeoutMs)).catch(() => undefined);
  }
}

/**
 * Settings of this transaction only. This query takes the transaction's snapshot; after that, Postgres does not allow to switch
 * `read only` off. The text contains nothing from the query or its arguments.
 */
const settingsOf = (readOnly: boolean, limitMs: number): SqlStatement => ({
  sql: [
    `select set_config('statement_timeout', :limit, true), set_config('TimeZone', 'UTC', true)`,
    `set_config('DateStyle', 'ISO', true), set_config('transaction_read_only', :readOnly, true)`,
  ].join(', '),
  arguments: [
    { name: 'limit', value: String(Math.ceil(limitMs)) },
    { name: 'readOnly', value: readOnly ? 'on' : 'off' },
  ],
});

/** All rows, or the limit that they exceed. */
function rowsOf({ columns, rows }: Table, { maxRows, maxBytes }: AuroraQuery): readonly JsonObject[] | string {
  if (rows.length > maxRows) return `more than ${maxRows} rows`;
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map(({ name, type }, at) => [name, jsonOf(row[at] ?? null, type)])),
  );
  const bytes = objects.reduce((sum, object) => sum + Buffer.byteLength(JSON.stringify(object)), 0);
  return bytes > maxBytes ? `more than ${maxBytes} bytes` : objects;
}
