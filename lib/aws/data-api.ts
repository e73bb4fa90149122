/** Aurora by the RDS Data API. The one file that loads its client: whoever asks a database so imports it then. */
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
import type { AskedStatement, Cell, DatabasePlace, Databases, Faulty, Table } from '../ports/databases.ts';
import { faultOf } from './data-api-fault.ts';

/** Attempts and time limits are the node's; and a statement that was sent twice could be done twice. */
const clientIn = (region: string): RDSDataClient => new RDSDataClient({ region, maxAttempts: 1 });

export class DataApi implements Databases {
  readonly #clientIn: (region: string) => RDSDataClient;
  readonly #clients = new Map<string, RDSDataClient>();

  constructor(make = clientIn) {
    this.#clientIn = make;
  }

  async begin({ clusterArn, secretArn, database }: DatabasePlace, signal: AbortSignal) {
    const command = new BeginTransactionCommand({ resourceArn: clusterArn, secretArn, database });
    return settled(signal, async () => {
      const { transactionId } = await this.#in(clusterArn).send(command, { abortSignal: signal });
      return transactionId === undefined
        ? { fault: { kind: 'unreachable', name: 'it names no transaction' } }
        : { transaction: transactionId };
    });
  }

  async execute(place: DatabasePlace, transaction: string, statement: AskedStatement, signal: AbortSignal) {
    const command = new ExecuteStatementCommand({
      resourceArn: place.clusterArn,
      secretArn: place.secretArn,
      database: place.database,
      transactionId: transaction,
      sql: statement.sql,
      parameters: statement.arguments.map(({ name, value }) => parameterOf(name, value)),
      includeResultMetadata: true,
      // A statement that nobody waits for must not go on.
      continueAfterTimeout: false,
      // Numbers of JSON are doubles: what is longer would lose its end.
      resultSetOptions: { decimalReturnType: 'STRING', longReturnType: 'STRING' },
    });
    return settled(signal, async () => {
      const { columnMetadata = [], records = [] } = await this.#in(place.clusterArn).send(command, { abortSignal: signal });
      const columns = columnMetadata.map(({ label, name = '', typeName = '' }) => ({ name: label ?? name, type: typeName }));
      const table: Table = { columns, rows: records.map((record) => record.map(cellOf)) };
      return { table };
    });
  }

  async commit({ clusterArn, secretArn }: DatabasePlace, transaction: string, signal: AbortSignal) {
    const command = new CommitTransactionCommand({ resourceArn: clusterArn, secretArn, transactionId: transaction });
    return settled(signal, async () => {
      await this.#in(clusterArn).send(command, { abortSignal: signal });
      return done;
    });
  }

  async rollback({ clusterArn, secretArn }: DatabasePlace, transaction: string, signal: AbortSignal) {
    const command = new RollbackTransactionCommand({ resourceArn: clusterArn, secretArn, transactionId: transaction });
    return settled(signal, async () => {
      await this.#in(clusterArn).send(command, { abortSignal: signal });
      return done;
    });
  }

  /** A cluster is asked where it is, which its ARN says. */
  #in(clusterArn: string): RDSDataClient {
    const region = clusterArn.split(':')[3] ?? '';
    const client = this.#clients.get(region) ?? this.#clientIn(region);
    this.#clients.set(region, client);
    return client;
  }
}

const done = { isDone: true } as const;

async function settled<Answer>(signal: AbortSignal, ask: () => Promise<Answer | Faulty>): Promise<Answer | Faulty> {
  try {
    signal.throwIfAborted();
    return await ask();
  } catch (trouble) {
    signal.throwIfAborted();
    return { fault: faultOf(trouble) };
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

/** The service writes a null among the values of an array, which the types of its client do not say. */
const cellsOf = (array: ArrayValue | null): Cell =>
  array === null
    ? null
    : (array.stringValues ??
      array.booleanValues ??
      array.doubleValues ??
      array.longValues ??
      (array.arrayValues ?? []).map((each) => cellsOf(each)));
