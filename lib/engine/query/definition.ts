/** A stored query: what is asked, of whom, and with which arguments. Immutable once published; a new text is a new version. */
import type { ArgumentDeclaration } from '../graph/definition.ts';
import type { QueryName } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { DurationMs } from '../time.ts';

export const queryKinds = ['postgres', 'http', 'aurora'] as const;
export type QueryKind = (typeof queryKinds)[number];

interface QueryBase {
  readonly name: QueryName;
  readonly description?: string;
  /** every argument that a node may give; it becomes a value of the wire protocol, never a part of the text */
  readonly parameters: readonly ArgumentDeclaration[];
  /** of the answer */
  readonly maxBytes: number;
  readonly timeoutMs: DurationMs;
}

interface SqlQuery extends QueryBase {
  readonly connection: string;
  /** SQL, with `:name` where an argument goes */
  readonly statement: string;
  /** asked in a transaction that can change nothing */
  readonly readOnly: boolean;
  readonly maxRows: number;
}

/** Its connection is the name of the secret that says where the database is and who asks. */
export interface PostgresQuery extends SqlQuery {
  readonly kind: 'postgres';
}

/** Its connection is a name of the setting `databases`: a database of Aurora PostgreSQL that is asked by the RDS Data API. */
export interface AuroraQuery extends SqlQuery {
  readonly kind: 'aurora';
}

export interface QueryRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** behind the connection, with `:name` for a whole step: `/orders/:id` */
  readonly path: string;
  /** values are templates over the arguments: `{{ctx.id}}` */
  readonly query: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
}

export interface HttpQuery extends QueryBase {
  readonly kind: 'http';
  /** where the service is: `https://api.example.com/v2` */
  readonly connection: string;
  readonly request: QueryRequest;
}

export type QueryDefinition = PostgresQuery | HttpQuery | AuroraQuery;
export type QueryVersion = QueryDefinition & { readonly version: number };

/** What was asked to be published, before it is known to make sense. */
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
  /** as much as an `http` node may take */
  bytes: { standard: 1_048_576, max: 5_242_880 },
  ms: { standard: 30_000, max: 840_000 },
  /** what the Data API gives no more than: an answer of 1 MiB, and a statement of 45 s */
  aurora: { bytes: 1_048_576, ms: 45_000 },
} as const;
