/**
 * Runs a query on Aurora through the RDS Data API, with named parameters (`:name`). It sends four requests: begin the transaction,
 * its settings, the statement, and commit or roll back.
 */
import { defined } from '../../base/defined.ts';
import { mainHandle } from '../../engine/graph/outcome.ts';
import type { Scope } from '../../engine/ids.ts';
import { unreachable } from '../../engine/invariant.ts';
import { type JsonObject, type JsonValue, inline, isJsonObject } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { AuroraQuery } from '../../engine/query/definition.ts';
import { parseStatement } from '../../engine/query/statement.ts';
import type { SqlStatement, DatabaseTarget, Databases, Table, Cell, DatabaseCallError } from '../../ports/databases.ts';
import { type RunResult, failed } from '../runner.ts';
import { valueTypes } from './postgres-values.ts';

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

/** OIDs of the Postgres catalogue (`pg_type.dat`). Other types become strings. */
const oids: ReadonlyMap<string, number> = new Map([
  ['bool', 16],
  ['int8', 20],
  ['bigserial', 20],
  ['int2', 21],
  ['smallserial', 21],
  ['int4', 23],
  ['serial', 23],
  ['oid', 26],
  ['float4', 700],
  ['float8', 701],
  ['json', 114],
  ['jsonb', 3_802],
  ['timestamp', 1_114],
  ['timestamptz', 1_184],
  ['_bool', 1_000],
  ['_int8', 1_016],
  ['_int2', 1_005],
  ['_int4', 1_007],
  ['_float4', 1_021],
  ['_float8', 1_022],
  ['_text', 1_009],
  ['_varchar', 1_015],
  ['_numeric', 1_231],
  ['_uuid', 2_951],
  ['_json', 199],
  ['_jsonb', 3_807],
  ['_timestamp', 1_115],
  ['_timestamptz', 1_185],
]);

/**
 * Converts a value of the Data API to JSON, by the same rules as values of Postgres. The API names types instead of OIDs.
 * @param type the database's type name; names of array types start with `_`
 */
function jsonOf(cell: Cell, type: string): JsonValue {
  if (cell === null || typeof cell === 'boolean') return cell;
  if (typeof cell === 'string') return textOf(cell, type);
  // The adapter requests strings for numbers that could lose precision. Other numbers must be finite.
  if (typeof cell === 'number') return Number.isFinite(cell) ? cell : String(cell);
  if (cell instanceof Uint8Array) return `\\x${Buffer.from(cell).toString('hex')}`;
  return cell.map((each) => jsonOf(each, type.replace(/^_/, '')));
}

const textOf = (text: string, type: string): JsonValue => {
  const oid = oids.get(type);
  return oid === undefined ? text : valueTypes.getTypeParser(oid)(type === 'timestamptz' ? withZone(text) : text);
};

/** The service returns `timestamptz` in UTC and may omit the zone. */
const withZone = (text: string): string => (/(Z|[+-]\d{2}(:?\d{2})?)$/.test(text) ? text : `${text}+00`);

interface QueryContext {
  readonly query: Pick<AuroraQuery, 'name' | 'connection' | 'maxBytes'>;
  readonly values: JsonObject;
  readonly limitMs: number;
}

/** SQLSTATE classes (Postgres, appendix A) of errors outside of the statement: connection, resources, operator, login. */
const transientStates = /^(08|53|57P|58|28|3D)/;
/** SQLSTATE classes of errors that repeat with the same statement: unsupported, read only, syntax and permissions. */
const permanentStates = /^(0A|25|42)/;
const queryCancelled = '57014';

/** Maps errors of the RDS Data API to failures of the node. */
function failureOf(error: DatabaseCallError, context: QueryContext): Failure {
  const { connection } = context.query;
  switch (error.kind) {
    case 'refused':
      return refusalOf(error, context);
    case 'timed_out':
      return timedOut(context);
    case 'too_large':
      return tooLarge('more than the limit of the Data API');
    case 'resuming':
      return unreachableFailure(`the database ${connection} is resuming from a pause`);
    case 'busy':
      return { cause: 'rate_limit', code: 'database_busy', message: `the Data API throttled the query` };
    case 'forbidden':
      return {
        cause: 'forbidden',
        code: 'connection_forbidden',
        message: `the worker may not query the database ${connection} (${error.name})`,
      };
    case 'misconfigured':
      return {
        cause: 'invalid',
        code: 'connection_invalid',
        message: `the setting "databases" is wrong for ${connection} (${error.name})`,
      };
    case 'unreachable':
      return unreachableFailure(`the database ${connection} could not be reached (${error.name})`);
    default:
      return unreachable(error);
  }
}

const timedOut = ({ query, limitMs }: Pick<QueryContext, 'query' | 'limitMs'>): Failure => ({
  cause: 'timeout',
  code: 'query_timeout',
  message: `${query.name} took longer than ${limitMs} ms`,
  details: { timeoutMs: limitMs },
});

const tooLarge = (limit: string): Failure => ({
  cause: 'invalid',
  code: 'result_too_large',
  message: `the query returns ${limit}`,
});

const unreachableFailure = (message: string, details?: JsonObject): Failure =>
  defined({
    cause: 'provider_error',
    code: 'database_unreachable',
    message,
    details,
  });

function refusalOf(
  { message, sqlState, position }: Extract<DatabaseCallError, { kind: 'refused' }>,
  context: QueryContext,
): Failure {
  const messageText = redactValues(message, context.values);
  // The service rejected the query before it reached the database. A retry would be rejected too.
  if (sqlState === undefined) return { cause: 'invalid', code: 'query_failed', message: messageText };
  const details = defined({ sqlState, position });
  if (sqlState === queryCancelled) {
    const timeout = timedOut(context);
    return { ...timeout, details: { ...timeout.details, ...details } };
  }
  if (transientStates.test(sqlState)) return unreachableFailure(`the database did not accept the query: ${messageText}`, details);
  return { cause: permanentStates.test(sqlState) ? 'invalid' : 'error', code: 'query_failed', message: messageText, details };
}

/** Shorter values are only redacted inside quotes, because they match unrelated text. */
const minRedactedLength = 4;

/**
 * Databases quote arguments in errors. Arguments are redacted, because messages are more widely visible than inputs: calling runs
 * copy them. `details.input` has the arguments.
 */
function redactValues(messageText: string, values: JsonObject): string {
  return Object.entries(values)
    .flatMap(([name, value]) => textsIn(value).map((text) => ({ name, text })))
    .toSorted((one, other) => other.text.length - one.text.length)
    .reduce((rest, { name, text }) => {
      const quoted = rest.replaceAll(`"${text}"`, `[argument ${name}]`);
      return text.length < minRedactedLength ? quoted : quoted.replaceAll(text, `[argument ${name}]`);
    }, messageText);
}

const textsIn = (value: JsonValue): readonly string[] => {
  if (typeof value === 'string' || typeof value === 'number') return value === '' ? [] : [String(value)];
  if (value === null || typeof value === 'boolean') return [];
  const parts: readonly JsonValue[] = isJsonObject(value) ? Object.values(value) : Array.isArray(value) ? value : [];
  return [JSON.stringify(value), ...parts.flatMap(textsIn)];
};
