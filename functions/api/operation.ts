/** The types of operations: what an operation receives, what it may return, and its dependencies. Derived from the route table. */
import type { Logger } from '@aws-lambda-powertools/logger';
import type { ErrorCode, ErrorDetail, ErrorResponseFields } from '../../lib/api/errors.ts';
import type { Route } from '../../lib/api/route.ts';
import type {
  BodyOf,
  ErrorOf,
  OperationId,
  OperationOf,
  ParamsOf,
  QueryOf,
  ResponseOf,
  StreamingOperation,
} from '../../lib/api/routes.ts';
import { defined } from '../../lib/base/defined.ts';
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import { type Instant, iso } from '../../lib/engine/time.ts';
import type { JobCalls } from '../../lib/ports/jobs.ts';
import { Authenticator } from '../../lib/service/access/authenticator.ts';
import { FailureBudget } from '../../lib/service/access/failure-budget.ts';
import { RateLimiter } from '../../lib/service/access/rate-limiter.ts';
import type { Decider, Resolver } from '../../lib/service/decider.ts';
import type { AuditNote, CallerContext } from './caller.ts';

interface Request<Id extends OperationId> extends CallerContext {
  readonly params: ParamsOf<Id>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
  /** the header Accept */
  readonly accept: string | undefined;
  /** empty if the route does not require one and the request has none */
  readonly idempotencyKey: string;
  /** the file of a multipart form */
  readonly attachment: Uint8Array | undefined;
  /** the unparsed body; empty on routes with a body schema */
  readonly raw: Uint8Array;
  /** names in lower case */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface Refusal<Code extends ErrorCode = ErrorCode> {
  readonly refused: Code;
  readonly details?: ErrorResponseFields;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Text chunks that are sent as they arrive; undefined with status 204, which has no body. */
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

/** Handles the requests of one route, with the tools of the function that serves it. */
type Operation<Id extends OperationId, Using> = (tools: Using, request: Request<Id>) => Promise<OperationResponse<Id>>;

/** Operations by the id of their route. Each is a named function of `tools` and `request`. */
export type OperationTable<Id extends OperationId, Using = Tools> = { readonly [One in Id]: Operation<One, Using> };

/** All operations of a function. A new route does not compile until an operation implements it. */
export type Operations<ServedBy extends Route['servedBy'], Using = Tools> = OperationTable<OperationOf<ServedBy>, Using>;

/** What a function serves. */
export interface Served<ServedBy extends Route['servedBy'], Using = Tools> {
  /**
   * The routes of all its paths. They include the routes of its operations, and those of another function at a path that the gateway
   * sends here for other methods. A function does not bundle the schemas of routes that it never sees.
   */
  readonly routes: readonly (Route & { readonly operationId: OperationId })[];
  readonly operations: Operations<ServedBy, Using>;
}

/** The response of any operation, as the pipeline sees it. */
export type AnyResponse = (Refusal | StreamResponse | { readonly status: number | string; readonly body: unknown }) & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly audit?: AuditNote;
};

/** A request after parsing with its route's schemas. */
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

export type AnyOperation<Using> = (tools: Using, request: ParsedRequest & CallerContext) => Promise<AnyResponse>;
export type AnyOperations<Using> = { readonly [Id in OperationId]?: AnyOperation<Using> };

/** Sound because the pipeline calls an operation only with values that its route's schemas parsed. */
export const asAnyOperations = <ServedBy extends Route['servedBy'], Using>(
  operations: Operations<ServedBy, Using>,
): AnyOperations<Using> => operations;

/** Makes a refusal. The kinds of a use case's refusals are error codes of the catalogue. */
export const refuse = <Code extends ErrorCode>(refused: Code, details?: ErrorResponseFields): Refusal<Code> => ({
  refused,
  ...(details === undefined ? {} : { details }),
});

export interface Tools<Of extends Resolver = Decider> {
  readonly decider: Of;
  readonly inspect: InspectNode;
  /** finds what else is wrong with a definition that has unknown keys; only in the function that serves definitions */
  readonly findingsOfDefinition?: (body: unknown) => readonly ErrorDetail[];
  readonly authenticator: Authenticator;
  readonly rates: RateLimiter;
  readonly failures: FailureBudget;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** The tools of the api function. */
export interface ApiTools extends Tools {
  /** calls the function of the first job of a run, for requests that wait for the run */
  readonly jobCalls: JobCalls;
}

/** For operations that commit to no run: their function does not bundle the run kinds. */
export type CommonTools = Tools<Resolver>;

export const toolsOf = <Of extends Resolver>({
  decider,
  inspect,
  logger,
  findingsOfDefinition,
}: Pick<Tools<Of>, 'decider' | 'inspect' | 'logger' | 'findingsOfDefinition'>): Tools<Of> => ({
  ...defined({ findingsOfDefinition }),
  decider,
  inspect,
  logger,
  authenticator: new Authenticator(decider.deps),
  rates: new RateLimiter(decider.deps),
  failures: new FailureBudget(decider.deps.clock),
});

/** Formats optional times for a response: an absent time is an absent key. */
export const times = <Name extends string>(
  instants: Readonly<Record<Name, Instant | undefined>>,
): { readonly [Key in Name]?: string } => {
  const formatted: { [Key in Name]?: string } = {};
  for (const name in instants) {
    const time = instants[name];
    if (time !== undefined) formatted[name] = iso(time);
  }
  return formatted;
};
