/**
 * Runs a query on Postgres with the extended protocol: arguments are separate from the statement, and only one statement is
 * accepted. A cursor fetches a few rows at a time, so a too large result is rejected without buffering it. This module is
 * loaded at the first Postgres query.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import Cursor from 'pg-cursor';
import { defined } from '../../base/defined.ts';
import { mainHandle } from '../../engine/graph/outcome.ts';
import { type JsonObject, type JsonValue, inline } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { PostgresQuery } from '../../engine/query/definition.ts';
import { parseStatement } from '../../engine/query/statement.ts';
import { type RunResult, failed } from '../runner.ts';
import type { Connection } from './connection.ts';
import { toParameter, valueTypes } from './postgres-values.ts';

/** Rows per fetch. */
const rowsPerFetch = 64;
/** Interval of the check of received bytes: a single row can exceed the limit. */
const checkIntervalMs = 20;
/** A value can be twice as long on the wire as in JSON, plus protocol overhead. */
const wireFactor = 2;
const wireExtraBytes = 1_048_576;
/** Time limit of the cancel request. If it fails, the server's statement timeout ends the statement. */
const cancelTimeoutMs = 1_500;

interface PostgresCall {
  readonly query: PostgresQuery & { readonly version: number };
  readonly values: JsonObject;
  readonly connection: Connection;
  readonly limitMs: number;
  /** aborted at the time limit, or when the attempt must end */
  readonly signal: AbortSignal;
}

export async function queryPostgres(call: PostgresCall): Promise<RunResult> {
  const { query, values, signal, limitMs } = call;
  const statement = parseStatement(query.statement);
  if ('error' in statement) return failed({ cause: 'invalid', code: 'query_invalid', message: statement.error });
  const socket = new Socket();
  const client = clientOf(call.connection, limitMs, () => socket);
  // The next query reports a connection error that occurs between queries.
  client.on('error', () => undefined);
  const interruption: { kind: Interruption } = { kind: 'none' };
  let backend: number | undefined;
  const stop = (kind: Interruption): void => {
    interruption.kind = kind;
    socket.destroy();
  };
  const onAbort = (): void => stop('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  const sizeCheck = setInterval(() => {
    if (socket.bytesRead > query.maxBytes * wireFactor + wireExtraBytes) stop('too_large');
  }, checkIntervalMs);
  try {
    signal.throwIfAborted();
    await client.connect();
    backend = await begin(client, query.readOnly, limitMs);
    const cursor = client.query(
      new Cursor(
        statement.text,
        statement.names.map((name) => toParameter(values[name] ?? null)),
        {
          rowMode: 'array',
          types: valueTypes,
        },
      ),
    );
    const rows = await rowsOf(cursor, query);
    await cursor.close();
    if (typeof rows === 'string') {
      await client.query('ROLLBACK');
      return tooLarge(rows);
    }
    await client.query(query.readOnly ? 'ROLLBACK' : 'COMMIT');
    const output = { rows, rowCount: rows.length, query: query.name, version: query.version };
    return { outcome: { kind: 'finished', output: inline(output), handle: mainHandle }, printed: [] };
  } catch (error) {
    if (interruption.kind !== 'none' && backend !== undefined) await cancel(call.connection, backend);
    if (interruption.kind === 'too_large') return tooLarge(`more than ${query.maxBytes} bytes`);
    return failed(failureOf(error, interruption.kind, { query, limitMs }));
  } finally {
    clearInterval(sizeCheck);
    signal.removeEventListener('abort', onAbort);
    await client.end().catch(() => undefined);
    socket.destroy();
  }
}

const clientOf = ({ ssl, ...address }: Connection, limitMs: number, stream: () => Socket): pg.Client =>
  new pg.Client({
    ...address,
    ssl,
    stream,
    application_name: 'stepwell',
    connectionTimeoutMillis: limitMs,
    // `valueTypes` converts all values from their text form.
    types: valueTypes,
  });

/** @returns the server's process id of this connection, for the cancel request */
async function begin(client: pg.Client, readOnly: boolean, limitMs: number): Promise<number | undefined> {
  // This text contains nothing from the query or its arguments.
  const lines = [
    `BEGIN ${readOnly ? 'READ ONLY' : 'READ WRITE'}`,
    `SET LOCAL statement_timeout = ${Math.ceil(limitMs)}`,
    `SET LOCAL TIME ZONE 'UTC'`,
    `SET LOCAL DateStyle = 'ISO'`,
    'SELECT pg_backend_pid()',
  ];
  const answers: unknown = await client.query({ text: lines.join('; '), rowMode: 'array' });
  const last: unknown = Array.isArray(answers) ? answers.at(-1) : undefined;
  const rows: unknown = typeof last === 'object' && last !== null && 'rows' in last ? last.rows : undefined;
  const processId: unknown = Array.isArray(rows) && Array.isArray(rows[0]) ? rows[0][0] : undefined;
  return typeof processId === 'number' ? processId : undefined;
}

/** All rows, or the limit that they exceed. */
async function rowsOf(
  cursor: Cursor<readonly JsonValue[]>,
  { maxRows, maxBytes }: PostgresQuery,
): Promise<readonly JsonObject[] | string> {
  const rows: JsonObject[] = [];
  let bytes = 0;
  for (;;) {
    // Fetches up to one row more than the limit to detect an excess.
    const { page, names } = await fetchRows(cursor, Math.min(rowsPerFetch, maxRows + 1 - rows.length));
    if (page.length === 0) return rows;
    for (const row of page) {
      const object = Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]));
      bytes += Buffer.byteLength(JSON.stringify(object));
      rows.push(object);
    }
    if (rows.length > maxRows) return `more than ${maxRows} rows`;
    if (bytes > maxBytes) return `more than ${maxBytes} bytes`;
  }
}

const fetchRows = (cursor: Cursor<readonly JsonValue[]>, maxCount: number) =>
  new Promise<{ readonly page: readonly (readonly JsonValue[])[]; readonly names: readonly string[] }>((resolve, reject) => {
    // A cursor at its end reports no fields.
    cursor.read(maxCount, (error, page, result: pg.QueryResult | undefined) => {
      if (error) reject(error);
      else resolve({ page, names: result?.fields.map(({ name }) => name) ?? [] });
    });
  });

/** Cancels over a second connection, which works with TLS and needs only the permissions of the same user. */
async function cancel(connection: Connection, backend: number): Promise<void> {
  const socket = new Socket();
  const client = clientOf(connection, cancelTimeoutMs, () => socket);
  client.on('error', () => undefined);
  const timer = setTimeout(() => socket.destroy(), cancelTimeoutMs);
  try {
    await client.connect();
    await client.query('SELECT pg_cancel_backend($1)', [backend]);
    await client.end();
  } catch {
    // The statement timeout ends the statement.
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

const tooLarge = (limit: string): RunResult =>
  failed({ cause: 'invalid', code: 'result_too_large', message: `the query returns ${limit}` });

/** Why the worker interrupted the query. */
type Interruption = 'none' | 'aborted' | 'too_large';

/** SQLSTATE classes (Postgres, appendix A) of errors outside of the statement: connection, resources, operator, login. */
const transientStates = /^(08|53|57P|58|28|3D)/;
const queryCancelled = '57014';

/** Maps errors of Postgres and its driver to failures of the node. */
function failureOf(
  error: unknown,
  interruption: Interruption,
  { query, limitMs }: { readonly query: Pick<PostgresQuery, 'name'>; readonly limitMs: number },
): Failure {
  const timedOut = {
    cause: 'timeout',
    code: 'query_timeout',
    message: `${query.name} took longer than ${limitMs} ms`,
    details: { timeoutMs: limitMs },
  } as const satisfies Failure;
  if (interruption === 'aborted') return timedOut;
  const messageText = error instanceof Error ? error.message.slice(0, 1_000) : String(error);
  if (!(error instanceof pg.DatabaseError))
    return {
      cause: 'provider_error',
      code: 'database_unreachable',
      message: `the database could not be reached: ${messageText}`,
    };
  const { code = '', position } = error;
  const details: JsonObject = defined({ sqlState: code, position });
  if (code === queryCancelled) return { ...timedOut, details: { ...timedOut.details, ...details } };
  return transientStates.test(code)
    ? {
        cause: 'provider_error',
        code: 'database_unreachable',
        message: `the database did not accept the query: ${messageText}`,
        details,
      }
    : { cause: 'error', code: 'query_failed', message: messageText, details };
}
