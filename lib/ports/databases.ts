/** Databases that are asked over HTTP: one request for each statement, and a transaction that holds several together. */
import type { JsonValue } from '../engine/json.ts';

export interface DatabaseTarget {
  readonly clusterArn: string;
  /** the secret with which the service logs in; nobody here reads it */
  readonly secretArn: string;
  readonly database: string;
}

export interface SqlStatement {
  /** with `:name` where an argument goes */
  readonly sql: string;
  /** travel beside the text; objects and arrays as JSON */
  readonly arguments: readonly { readonly name: string; readonly value: JsonValue }[];
}

export type Cell = null | boolean | number | string | Uint8Array | readonly Cell[];

export interface Table {
  /** `type` as the database calls it: `int4`, `timestamptz`, `_text` */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** whole and exact numbers are texts, a `double` is a number */
  readonly rows: readonly (readonly Cell[])[];
}

export type DatabaseCallError =
  /** it, or what stands before it, does not take the statement */
  | { readonly kind: 'refused'; readonly message: string; readonly sqlState?: string; readonly position?: string }
  /** the statement took longer than the service waits */
  | { readonly kind: 'timed_out' }
  /** the answer is larger than the service gives */
  | { readonly kind: 'too_large' }
  /** it had paused, and was woken by this */
  | { readonly kind: 'resuming' }
  | { readonly kind: 'busy' }
  /** this program may not ask; `name` is the service's for it */
  | { readonly kind: 'forbidden'; readonly name: string }
  /** there is no such cluster or database, it is closed to this way of asking, or its secret does not fit */
  | { readonly kind: 'misconfigured'; readonly name: string }
  /** for now */
  | { readonly kind: 'unreachable'; readonly name: string };

export type DatabaseErrorResult = { readonly error: DatabaseCallError };

/** All reject with the signal's reason when that aborts, and for nothing else that the service says. */
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
