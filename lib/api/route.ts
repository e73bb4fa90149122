/** The type of a route: its declaration, from which the router, the OpenAPI document and the client are built. */
import type * as z from 'zod';
import type { KeyScope } from '../ports/control.ts';
import type { PayloadPath } from './payloads.ts';
import type { ErrorCode, ErrorDetail } from './errors.ts';

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** parameters in braces, as the gateway writes them */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  readonly summary: string;
  /** allowed over plain HTTP even if HTTPS is required; for health probes, without any data */
  readonly allowsPlainHttp?: true;
  /** the Lambda function that serves it */
  readonly servedBy: 'api' | 'events' | 'deployments' | 'library' | 'test-runs' | 'webhooks' | 'world';
  /** null: no key is required */
  readonly scope: KeyScope | null;
  /**
   * The paths of the response that have data of runs. A caller without `payloads:read` gets the response without them. Absent: the
   * response has no such data.
   */
  readonly payloads?: readonly PayloadPath[];
  /** what the caller must present; absent: a key, or the cookie of a session */
  readonly credential?: 'key' | 'session';
  readonly params?: z.ZodObject;
  /** the error code for an invalid path parameter; the same code as for an unknown resource */
  readonly invalidParamsCode?: ErrorCode;
  readonly query?: z.ZodObject;
  readonly body?: RouteBody;
  /** the body is read as raw bytes, without a schema */
  readonly rawBody?: { readonly limitBytes: number; readonly description: string };
  readonly idempotencyKey: 'required' | 'optional' | 'none';
  /** the name of the mutation in the audit trail; absent: the route only reads, or saves a draft, which nothing executes */
  readonly action?: string;
  /** a ticket in the query can replace the key in the header */
  readonly acceptsTicket?: true;
  /** the route also returns server-sent events on request, and 204 if no more events will follow */
  readonly streams?: { readonly description: string; readonly noContentDescription: string };
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema: z.ZodType }>>;
  /** error codes of this route, in addition to the common ones */
  readonly errors: readonly ErrorCode[];
}

export interface RouteBody {
  readonly schema: z.ZodObject;
  readonly limitBytes: number;
  /** an empty body counts as an empty object */
  readonly isOptional?: true;
  /** replaces aliases before the schema validates the body */
  readonly normalizeBody?: (body: unknown) => unknown;
  /** the error code for an invalid body, chosen by its error details; default: invalid_request */
  readonly errorCodeFor?: (details: readonly ErrorDetail[]) => ErrorCode;
  /** the body can also be the text part of a multipart form with a file */
  readonly form?: { readonly text: string; readonly file: string; readonly limitBytes: number };
}

/** Maximum body, in bytes, of a request that carries only a few settings. */
export const smallLimitBytes = 16_384;

/** A response of a route, for the route table. */
export const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

/** Error codes of every request, with those of the gateway, and of every request that requires a key. */
const commonErrors = ['request_blocked', 'internal', 'unavailable'] as const satisfies readonly ErrorCode[];
const authenticationErrors = [
  'key_in_query',
  'unauthorized',
  'missing_scope',
  'rate_limited',
] as const satisfies readonly ErrorCode[];
const sessionErrors = ['session_invalid', 'cross_origin'] as const satisfies readonly ErrorCode[];
const bodyErrors = ['invalid_request', 'payload_too_large'] as const satisfies readonly ErrorCode[];

export const errorsOf = (route: Route): readonly ErrorCode[] => [
  ...new Set<ErrorCode>([
    ...(route.allowsPlainHttp === true ? [] : ['https_required' as const]),
    ...(route.scope === null ? [] : authenticationErrors),
    ...(route.scope === null || route.credential === 'key' ? [] : sessionErrors),
    ...(route.acceptsTicket === true ? ['ticket_invalid' as const] : []),
    ...(route.query === undefined ? [] : ['invalid_request' as const]),
    ...(route.body === undefined ? [] : bodyErrors),
    ...(route.rawBody === undefined ? [] : ['payload_too_large' as const]),
    ...(route.invalidParamsCode === undefined ? [] : [route.invalidParamsCode]),
    ...route.errors,
    ...commonErrors,
  ]),
];
