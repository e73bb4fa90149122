/** What an operation is given and may answer. The types come from the table of routes. */
import type { ErrorCode, ErrorResponseFields } from '../../lib/api/errors.ts';
import type { Route } from '../../lib/api/route.ts';
import type {
  ResponseOf,
  BodyOf,
  ErrorOf,
  OperationId,
  OperationOf,
  ParamsOf,
  QueryOf,
  StreamingOperation,
} from '../../lib/api/routes.ts';
import type { KeyId, Scope } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import type { KeyScope } from '../../lib/ports/control.ts';
import type { Trace } from '../../lib/engine/trace.ts';

/** Who asks. */
export interface CallerContext {
  /** whose records; the null scope of a route without a key is never looked at */
  readonly scope: Scope;
  /** the key that asks; undefined where a route needs none */
  readonly caller: KeyId | undefined;
  /** what that key may do */
  readonly scopes: readonly KeyScope[];
  /** of this request: what is begun for it goes back to it */
  readonly trace: Trace;
}

interface Request<Id extends OperationId> extends CallerContext {
  readonly params: ParamsOf<Id>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
  /** the header Accept */
  readonly accept: string | undefined;
  /** present where the route requires one */
  readonly idempotencyKey: string;
  /** the file of a form, where the route takes one and the request was one */
  readonly attachment: Uint8Array | undefined;
  /** the body as it was sent; empty where the route judges it by a schema */
  readonly raw: Uint8Array;
  /** names in lower case */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface Refusal<Code extends ErrorCode = ErrorCode> {
  readonly refused: Code;
  readonly details?: ErrorResponseFields;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the audit trail says beside who, when and how it ended. */
export interface AuditNote {
  readonly resource: string;
  /** whose trail it belongs to, where no key says that */
  readonly scope?: Scope;
  /** nobody was known by what was presented: it counts as a failed authentication, for this reason */
  readonly failedAuthentication?: string;
  readonly facts?: JsonObject;
}

/** Pieces of text, sent as they come; undefined with a 204, which has no body. */
interface StreamResponse {
  readonly status: 200 | 204;
  readonly stream: AsyncIterable<string> | undefined;
}

type OperationResponse<Id extends OperationId> = (
  | ResponseOf<Id>
  | Refusal<ErrorOf<Id>>
  | (Id extends StreamingOperation ? StreamResponse : never)
) & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly audit?: AuditNote;
};

type Operation<Id extends OperationId> = (request: Request<Id>) => Promise<OperationResponse<Id>>;

/** Every operation a function must answer; a new route stops this from compiling until something answers it. */
export type Operations<ServedBy extends Route['servedBy']> = { readonly [Id in OperationOf<ServedBy>]: Operation<Id> };

/** Any answer, as the pipeline sees it. */
export type AnyResponse = (Refusal | StreamResponse | { readonly status: number | string; readonly body: unknown }) & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly audit?: AuditNote;
};

/** A request as its own route's schemas have parsed it. */
export interface ParsedRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly accept: string | undefined;
  readonly idempotencyKey: string;
  readonly attachment: Uint8Array | undefined;
  readonly raw: Uint8Array;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export type AnyOperation = (request: ParsedRequest & CallerContext) => Promise<AnyResponse>;
export type AnyOperations = { readonly [Id in OperationId]?: AnyOperation };

/** The pipeline calls an operation only with what the schemas of its own route made, which is what its type asks for. */
export const asAnyOperations = <ServedBy extends Route['servedBy']>(operations: Operations<ServedBy>): AnyOperations =>
  operations;

/** The one place where a service's word becomes a refusal: the kinds of refusing answers are codes of the catalogue. */
export const refuse = <Code extends ErrorCode>(refused: Code, details?: ErrorResponseFields): Refusal<Code> => ({
  refused,
  ...(details === undefined ? {} : { details }),
});
