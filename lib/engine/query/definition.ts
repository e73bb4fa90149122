/** Stored queries. A query version is immutable once published; a changed query is a new version. */
import type { ArgumentDeclaration } from '../graph/definition.ts';
import type { QueryName } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { DurationMs } from '../time.ts';

export const queryKinds = ['postgres', 'http', 'aurora'] as const;
export type QueryKind = (typeof queryKinds)[number];

interface QueryBase {
  readonly name: QueryName;
  readonly description?: string;
  /** arguments that a node may pass; each is sent as a separate value, never as part of the text */
  readonly parameters: readonly ArgumentDeclaration[];
  /** limit of the response */
  readonly maxBytes: number;
  readonly timeoutMs: DurationMs;
}

interface SqlQuery extends QueryBase {
  readonly connection: string;
  /** SQL, with `:name` for an argument */
  readonly statement: string;
  /** runs in a read-only transaction */
  readonly readOnly: boolean;
  readonly maxRows: number;
}

/** `connection` is the name of the secret with the database's address and credentials. */
export interface PostgresQuery extends SqlQuery {
  readonly kind: 'postgres';
}

/** `connection` is a name in the setting `databases`: an Aurora PostgreSQL database behind the RDS Data API. */
export interface AuroraQuery extends SqlQuery {
  readonly kind: 'aurora';
}

export interface QueryRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** appended to the connection, with `:name` for a whole segment: `/orders/:id` */
  readonly path: string;
  /** values are templates over the arguments: `{{ctx.id}}` */
  readonly query: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
}

export interface HttpQuery extends QueryBase {
  readonly kind: 'http';
  /** base address of the service: `https://api.example.com/v2` */
  readonly connection: string;
  readonly request: QueryRequest;
}

export type QueryDefinition = PostgresQuery | HttpQuery | AuroraQuery;
export type QueryVersion = QueryDefinition & { readonly version: number };

/** A query before validation. */
export interface QueryDraft extends QueryBase {
  readonly kind: QueryKind;
  readonly connection: string;
  readonly statement?: string;
  readonly readOnly?: boolean;
  readonly maxRows?: number;
  readonly request?: QueryRequest;
}

export const queryLimits = {
  parameters: 100,
  statementCharacters: 65_536,
  rows: { standard: 1_000, max: 10_000 },
  /** the same as for an `http` node */
  bytes: { standard: 1_048_576, max: 5_242_880 },
  ms: { standard: 30_000, max: 840_000 },
  /** limits of the Data API: a response of 1 MiB, and a statement of 45 s */
  aurora: { bytes: 1_048_576, ms: 45_000 },
} as const;
