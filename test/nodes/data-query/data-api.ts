/** A local RDS Data API: its protocol (restJson1) with a Postgres behind it. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { PGlite } from '@electric-sql/pglite';
import * as z from 'zod';
import { readArray } from '../../../lib/nodes/data-query/postgres-values.ts';
import { parseStatement } from '../../../lib/engine/query/statement.ts';

const field = z.strictObject({
  isNull: z.literal(true).optional(),
  stringValue: z.string().optional(),
  longValue: z.int().optional(),
  doubleValue: z.number().optional(),
  booleanValue: z.boolean().optional(),
});
const parameter = z.strictObject({ name: z.string(), value: field, typeHint: z.literal('JSON').optional() });
type Parameter = z.output<typeof parameter>;

const begin = z.strictObject({ resourceArn: z.string(), secretArn: z.string(), database: z.string() });
const end = z.strictObject({ resourceArn: z.string(), secretArn: z.string(), transactionId: z.string() });
const execute = z.strictObject({
  ...begin.shape,
  transactionId: z.string(),
  sql: z.string(),
  parameters: z.array(parameter),
  includeResultMetadata: z.literal(true),
  continueAfterTimeout: z.literal(false),
  resultSetOptions: z.strictObject({ decimalReturnType: z.literal('STRING'), longReturnType: z.literal('STRING') }),
});

/** An error of the service. */
export class Said extends Error {
  readonly type: string;
  readonly status: number;
  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

const asIs = (text: string): string => text;
/** Values in text form, so that only this file applies the service's rules. */
const parsers = Object.fromEntries(
  [16, 17, 20, 21, 23, 114, 700, 701, 1_082, 1_114, 1_184, 1_700, 2_950, 3_802, 1_000, 1_005, 1_007, 1_009, 1_016].map((oid) => [
    oid,
    asIs,
  ]),
);
const answerLimitBytes = 1_048_576;

export interface Call {
  readonly path: string;
  readonly authorization: string;
  readonly body: z.output<typeof anyBody>;
}
const anyBody = z.looseObject({ sql: z.string().optional(), parameters: z.array(parameter).optional() });

export class DataApiServer {
  readonly calls: Call[] = [];
  /** Replaces a response: throws, or never returns. By path; for `/Execute` only the statement, not the settings. */
  readonly instead = new Map<string, () => unknown>();
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));
  readonly #types = new Map<number, string>();
  #db: PGlite | undefined;
  #open: string | undefined;
  #begun = 0;

  async start(): Promise<void> {
    this.#db = await PGlite.create();
    for (const row of (await this.#db.query<{ oid: number; typname: string }>('select oid::int, typname from pg_type')).rows)
      this.#types.set(row.oid, row.typname);
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get db(): PGlite {
    if (this.#db === undefined) throw new Error('not started');
    return this.#db;
  }

  get endpoint(): string {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : '';
  }

  get paths(): readonly string[] {
    return this.calls.map(({ path }) => path);
  }

  /** Clears recorded calls and an open transaction. */
  async reset(): Promise<void> {
    this.calls.length = 0;
    this.instead.clear();
    if (this.#open !== undefined) await this.db.exec('ROLLBACK');
    this.#open = undefined;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#db?.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('content-type', 'application/json');
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(z.instanceof(Buffer).parse(chunk));
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      const path = request.url ?? '';
      this.calls.push({ path, authorization: request.headers.authorization ?? '', body: anyBody.parse(body) });
      const isSettings = path === '/Execute' && anyBody.parse(body).sql?.includes('statement_timeout') === true;
      if (!isSettings) await this.instead.get(path)?.();
      const text = JSON.stringify(await this.#answer(path, body));
      if (Buffer.byteLength(text) > answerLimitBytes) {
        await this.#end('ROLLBACK');
        throw new Said('BadRequestException', 'Database returned more than the allowed response size limit');
      }
      response.end(text);
    } catch (error) {
      const said = error instanceof Said ? error : new Said('ValidationException', String(error));
      response.statusCode = said.status;
      response.setHeader('x-amzn-errortype', `${said.type}:http://internal.amazon.com/coral/`);
      response.end(JSON.stringify({ message: said.message }));
    }
  }

  async #answer(path: string, body: unknown): Promise<object> {
    switch (path) {
      case '/BeginTransaction':
        begin.parse(body);
        await this.db.exec('BEGIN');
        this.#open = `tx-${(this.#begun += 1)}`;
        return { transactionId: this.#open };
      case '/Execute':
        return this.#execute(execute.parse(body));
      case '/CommitTransaction':
        this.#check(end.parse(body).transactionId);
        await this.#end('COMMIT');
        return { transactionStatus: 'Transaction Committed' };
      case '/RollbackTransaction':
        this.#check(end.parse(body).transactionId);
        await this.#end('ROLLBACK');
        return { transactionStatus: 'Rollback Complete' };
      default:
        throw new Said('UnknownOperationException', path, 404);
    }
  }

  #check(transaction: string): void {
    if (transaction !== this.#open) throw new Said('BadRequestException', `Transaction ${transaction} is not found`);
  }

  async #end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    this.#open = undefined;
    await this.db.exec(how);
  }

  async #execute({ sql, parameters, transactionId }: z.output<typeof execute>): Promise<object> {
    this.#check(transactionId);
    const statement = parseStatement(sql);
    if ('error' in statement) throw new Said('BadRequestException', statement.error);
    const bound = statement.names.map((name) => {
      const found = parameters.find((one) => one.name === name);
      if (found === undefined) throw new Said('BadRequestException', `Named parameter ${name} is missing`);
      return typed(found);
    });
    try {
      const values = bound.map(({ value }) => value);
      const paramTypes = bound.map(({ type }) => type);
      const { fields, rows } = await this.db.query<(string | null)[]>(statement.text, values, {
        rowMode: 'array',
        parsers,
        paramTypes,
      });
      const types = fields.map(({ dataTypeID }) => this.#types.get(dataTypeID) ?? 'unknown');
      return {
        columnMetadata: fields.map(({ name }, at) => ({ name: 'its_own', label: name, typeName: types[at] })),
        records: rows.map((row) => row.map((text, at) => fieldOf(text, types[at] ?? ''))),
        numberOfRecordsUpdated: 0,
      };
    } catch (error) {
      const { code, message, position } = z
        .looseObject({ code: z.string(), message: z.string(), position: z.string().optional() })
        .parse({ ...Object(error), message: error instanceof Error ? error.message : '' });
      const where = position === undefined ? '' : `; Position: ${position}`;
      throw new Said('DatabaseErrorException', `ERROR: ${message}${where}; SQLState: ${code}`);
    }
  }
}

/** Binds parameters like the service: strings are text, and numbers keep their type. */
function typed({ value, typeHint }: Parameter): { readonly value: unknown; readonly type: number } {
  if (value.isNull === true) return { value: null, type: 0 };
  if (value.stringValue !== undefined) return { value: value.stringValue, type: typeHint === 'JSON' ? 3_802 : 1_043 };
  if (value.longValue !== undefined) return { value: value.longValue, type: 20 };
  if (value.doubleValue !== undefined) return { value: value.doubleValue, type: 701 };
  return { value: value.booleanValue, type: 16 };
}

function fieldOf(text: string | null, type: string): object {
  if (text === null) return { isNull: true };
  if (type === 'bool') return { booleanValue: text === 't' };
  if (type === 'float4' || type === 'float8') return { doubleValue: Number.isFinite(Number(text)) ? Number(text) : text };
  if (type === 'bytea') return { blobValue: Buffer.from(text.slice(2), 'hex').toString('base64') };
  if (type.startsWith('_')) return { arrayValue: arrayOf(readArray(text, asIs)) };
  // In UTC, without a zone.
  if (type === 'timestamptz') return { stringValue: text.replace(/\+00$/, '') };
  return { stringValue: text };
}

const arrayOf = (value: unknown): object => {
  const items = z.array(z.unknown()).parse(value);
  return items.some(Array.isArray) ? { arrayValues: items.map(arrayOf) } : { stringValues: items };
};
