/**
 * Asks Postgres, by its extended protocol: the statement and its arguments travel apart, and one statement at a time is
 * taken. Rows come from a portal, a few at a time, so a large answer is refused without being held. Loaded when the
 * first such query is asked.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import Cursor from 'pg-cursor';
import { mainHandle } from '../../engine/graph/outcome.ts';
import { type JsonObject, type JsonValue, inline } from '../../engine/json.ts';
import type { PostgresQuery } from '../../engine/query/definition.ts';
import { parseStatement } from '../../engine/query/statement.ts';
import { type RunResult, failed } from '../runner.ts';
import type { Connection } from './connection.ts';
import { type Interruption, failureOf } from './postgres-failure.ts';
import { toParameter, valueTypes } from './postgres-values.ts';

/** Rows asked for at a time. */
const rowsPerFetch = 64;
/** How often what has come in is held against what may: a single row can be larger than all that is allowed. */
const checkIntervalMs = 20;
/** A text can be twice as long on the wire as in JSON, and there is an envelope around it. */
const wireFactor = 2;
const wireExtraBytes = 1_048_576;
/** For telling the server that nobody waits any more. It ends the statement by its own limit too. */
const cancelTimeoutMs = 1_500;

interface PostgresCall {
  readonly query: PostgresQuery & { readonly version: number };
  readonly values: JsonObject;
  readonly connection: Connection;
  readonly limitMs: number;
  /** the limit, or whatever else ends the attempt */
  readonly signal: AbortSignal;
}

export async function queryPostgres(call: PostgresCall): Promise<RunResult> {
  const { query, values, signal, limitMs } = call;
  const statement = parseStatement(query.statement);
  if ('error' in statement) return failed({ cause: 'invalid', code: 'query_invalid', message: statement.error });
  const socket = new Socket();
  const client = clientOf(call.connection, limitMs, () => socket);
  // What happens to the connection between two answers is told by the next of them.
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
    // As texts: what becomes of them is said in one place.
    types: valueTypes,
  });

/** @returns what the server knows this connection by */
async function begin(client: pg.Client, readOnly: boolean, limitMs: number): Promise<number | undefined> {
  // Nothing in this text comes from a query or an argument.
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

/** All rows, or which bound there are more than. */
async function rowsOf(
  cursor: Cursor<readonly JsonValue[]>,
  { maxRows, maxBytes }: PostgresQuery,
): Promise<readonly JsonObject[] | string> {
  const rows: JsonObject[] = [];
  let bytes = 0;
  for (;;) {
    // One more than may be, so that one too many is seen.
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
    // A cursor that is at its end already says nothing of fields.
    cursor.read(maxCount, (error, page, result: pg.QueryResult | undefined) => {
      if (error) reject(error);
      else resolve({ page, names: result?.fields.map(({ name }) => name) ?? [] });
    });
  });

/** By a connection of its own, which works through TLS and needs no right but that of the same user. */
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
    // The statement's own limit ends it.
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

const tooLarge = (limit: string): RunResult =>
  failed({ cause: 'invalid', code: 'result_too_large', message: `the query gives ${limit}` });
