/** Aurora through the RDS Data API. Imported on demand, because it loads its own client. */
import {
  type ArrayValue,
  BeginTransactionCommand,
  CommitTransactionCommand,
  ExecuteStatementCommand,
  type Field,
  RDSDataClient,
  RollbackTransactionCommand,
  type SqlParameter,
} from '@aws-sdk/client-rds-data';
import type { JsonValue } from '../engine/json.ts';
import type { SqlStatement, Cell, DatabaseTarget, Databases, DatabaseErrorResult, Table } from '../ports/databases.ts';
import { toDatabaseCallError } from './data-api-error.ts';

/** One attempt: the node defines retries, and a repeated statement could execute twice. */
const clientIn = (region: string): RDSDataClient => new RDSDataClient({ region, maxAttempts: 1 });

export class DataApi implements Databases {
  readonly #clientIn: (region: string) => RDSDataClient;
  readonly #clients = new Map<string, RDSDataClient>();

  constructor(make = clientIn) {
    this.#clientIn = make;
  }

  async begin({ clusterArn, secretArn, database }: DatabaseTarget, signal: AbortSignal) {
    const command = new BeginTransactionCommand({ resourceArn: clusterArn, secretArn, database });
    return errorAsResult(signal, async () => {
      const { transactionId } = await this.#in(clusterArn).send(command, { abortSignal: signal });
      return transactionId === undefined
        ? { error: { kind: 'unreachable', name: 'the response has no transaction id' } }
        : { transaction: transactionId };
    });
  }

  async execute(target: DatabaseTarget, transaction: string, statement: SqlStatement, signal: AbortSignal) {
    const command = new ExecuteStatementCommand({
      resourceArn: target.clusterArn,
      secretArn: target.secretArn,
      database: target.database,
      transactionId: transaction,
      sql: statement.sql,
      parameters: statement.arguments.map(({ name, value }) => parameterOf(name, value)),
      includeResultMetadata: true,
      // After a time-out no statement may continue unobserved.
      continueAfterTimeout: false,
      // As JSON numbers (doubles), long integers and decimals would lose digits.
      resultSetOptions: { decimalReturnType: 'STRING', longReturnType: 'STRING' },
    });
    return errorAsResult(signal, async () => {
      const { columnMetadata = [], records = [] } = await this.#in(target.clusterArn).send(command, { abortSignal: signal });
      const columns = columnMetadata.map(({ label, name = '', typeName = '' }) => ({ name: label ?? name, type: typeName }));
      const table: Table = { columns, rows: records.map((record) => record.map(cellOf)) };
      return { table };
    });
  }

  async commit({ clusterArn, secretArn }: DatabaseTarget, transaction: string, signal: AbortSignal) {
    const command = new CommitTransactionCommand({ resourceArn: clusterArn, secretArn, transactionId: transaction });
    return errorAsResult(signal, async () => {
      await this.#in(clusterArn).send(command, { abortSignal: signal });
      return done;
    });
  }

  async rollback({ clusterArn, secretArn }: DatabaseTarget, transaction: string, signal: AbortSignal) {
    const command = new RollbackTransactionCommand({ resourceArn: clusterArn, secretArn, transactionId: transaction });
    return errorAsResult(signal, async () => {
      await this.#in(clusterArn).send(command, { abortSignal: signal });
      return done;
    });
  }

  /** The client of the region in the cluster's ARN. */
  #in(clusterArn: string): RDSDataClient {
    const region = clusterArn.split(':')[3] ?? '';
    const client = this.#clients.get(region) ?? this.#clientIn(region);
    this.#clients.set(region, client);
    return client;
  }
}

const done = { isDone: true } as const;

async function errorAsResult<Result>(
  signal: AbortSignal,
  call: () => Promise<Result | DatabaseErrorResult>,
): Promise<Result | DatabaseErrorResult> {
  try {
    signal.throwIfAborted();
    return await call();
  } catch (error) {
    signal.throwIfAborted();
    return { error: toDatabaseCallError(error) };
  }
}

function parameterOf(name: string, value: JsonValue): SqlParameter {
  if (value === null) return { name, value: { isNull: true } };
  if (typeof value === 'string') return { name, value: { stringValue: value } };
  if (typeof value === 'boolean') return { name, value: { booleanValue: value } };
  if (typeof value === 'number')
    return { name, value: Number.isSafeInteger(value) ? { longValue: value } : { doubleValue: value } };
  return { name, value: { stringValue: JSON.stringify(value) }, typeHint: 'JSON' };
}

const cellOf = (field: Field): Cell =>
  field.stringValue ??
  field.booleanValue ??
  field.doubleValue ??
  field.longValue ??
  field.blobValue ??
  (field.arrayValue === undefined ? null : cellsOf(field.arrayValue));

/** The service may return null elements in an array, although the client's types exclude them. */
const cellsOf = (array: ArrayValue | null): Cell =>
  array === null
    ? null
    : (array.stringValues ??
      array.booleanValues ??
      array.doubleValues ??
      array.longValues ??
      (array.arrayValues ?? []).map((each) => cellsOf(each)));
