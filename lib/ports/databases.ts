/** Databases with an HTTP API: each statement is one request, and a transaction groups several statements. */
import type { JsonValue } from '../engine/json.ts';

export interface DatabaseTarget {
  readonly clusterArn: string;
  /** the secret with which the service logs in; this program does not read it */
  readonly secretArn: string;
  readonly database: string;
}

export interface SqlStatement {
  /** with `:name` as the placeholder of an argument */
  readonly sql: string;
  /** sent apart from the SQL text; objects and arrays are sent as JSON */
  readonly arguments: readonly { readonly name: string; readonly value: JsonValue }[];
}

export type Cell = null | boolean | number | string | Uint8Array | readonly Cell[];

export interface Table {
  /** `type` is the database's name of it: `int4`, `timestamptz`, `_text` */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** integers and decimals are strings, so that no digit is lost; a `double` is a number */
  readonly rows: readonly (readonly Cell[])[];
}

export type DatabaseCallError =
  /** the database, or the service in front of it, rejects the statement */
  | { readonly kind: 'refused'; readonly message: string; readonly sqlState?: string; readonly position?: string }
  /** the statement exceeded the service's time limit */
  | { readonly kind: 'timed_out' }
  /** the result exceeds the service's size limit */
  | { readonly kind: 'too_large' }
  /** the cluster was paused; this request resumes it */
  | { readonly kind: 'resuming' }
  | { readonly kind: 'busy' }
  /** this program has no permission; `name` is the service's error name */
  | { readonly kind: 'forbidden'; readonly name: string }
  /** the cluster or database does not exist, its HTTP endpoint is off, or its secret is wrong */
  | { readonly kind: 'misconfigured'; readonly name: string }
  /** temporary */
  | { readonly kind: 'unreachable'; readonly name: string };

export type DatabaseErrorResult = { readonly error: DatabaseCallError };

/** Each method rejects only with the abort reason of the signal. Errors of the service are results. */
export interface Databases {
  begin(target: DatabaseTarget, signal: AbortSignal): Promise<{ readonly transaction: string } | DatabaseErrorResult>;
  execute(
    target: DatabaseTarget,
    transaction: string,
    statement: SqlStatement,
    signal: AbortSignal,
  ): Promise<{ readonly table: Table } | DatabaseErrorResult>;
  commit(
    target: DatabaseTarget,
    transaction: string,
    signal: AbortSignal,
  ): Promise<{ readonly isDone: true } | DatabaseErrorResult>;
  rollback(
    target: DatabaseTarget,
    transaction: string,
    signal: AbortSignal,
  ): Promise<{ readonly isDone: true } | DatabaseErrorResult>;
}
