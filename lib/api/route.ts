/** What a route is: everything about it that is not done by code. */
import type * as z from 'zod';
import type { KeyScope } from '../ports/control.ts';
import type { ErrorCode, ErrorDetail } from './errors.ts';

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** parameters in braces, as the gateway writes them */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  readonly summary: string;
  /** answered over plain HTTP too, where HTTPS is required: for probes that cannot do better, and tells nothing */
  readonly allowsPlainHttp?: true;
  /** which function answers it */
  readonly servedBy: 'api' | 'events' | 'deployments' | 'library' | 'test-runs' | 'webhooks';
  /** null: no key is asked for */
  readonly scope: KeyScope | null;
  readonly params?: z.ZodObject;
  /** what a parameter that cannot be one is answered with: the same as an unknown one */
  readonly invalidParamsCode?: ErrorCode;
  readonly query?: z.ZodObject;
  readonly body?: RouteBody;
  /** taken as the bytes that were sent, whatever they are; no schema judges them */
  readonly rawBody?: { readonly limitBytes: number; readonly description: string };
  readonly idempotencyKey: 'required' | 'optional' | 'none';
  /** the name of the mutation in the audit trail; absent: nothing is changed */
  readonly action?: string;
  /** a ticket in the query lets in as well as a key in the header */
  readonly acceptsTicket?: true;
  /** answered as server-sent events too, for whoever asks for them; and with 204 where none will come any more */
  readonly streams?: { readonly description: string; readonly noContentDescription: string };
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema: z.ZodType }>>;
  /** the codes of its own, beside those that every route has */
  readonly errors: readonly ErrorCode[];
}

export interface RouteBody {
  readonly schema: z.ZodObject;
  readonly limitBytes: number;
  /** an empty body counts as an empty object */
  readonly isOptional?: true;
  /** brings older spellings into form before the schema judges */
  readonly normalizeBody?: (body: unknown) => unknown;
  /** what a body that does not fit the schema is answered with, by the places that do not; absent: invalid_request */
  readonly errorCodeFor?: (details: readonly ErrorDetail[]) => ErrorCode;
  /** the same body as the text part of a form, with a file beside it */
  readonly form?: { readonly text: string; readonly file: string; readonly limitBytes: number };
}

/** What can happen to every request, and to every request that needs a key. */
const commonErrors = ['internal', 'unavailable'] as const satisfies readonly ErrorCode[];
const authenticationErrors = [
  'key_in_query',
  'unauthorized',
  'missing_scope',
  'rate_limited',
] as const satisfies readonly ErrorCode[];
const bodyErrors = ['invalid_request', 'payload_too_large'] as const satisfies readonly ErrorCode[];

export const errorsOf = (route: Route): readonly ErrorCode[] => [
  ...new Set<ErrorCode>([
    ...(route.allowsPlainHttp === true ? [] : ['https_required' as const]),
    ...(route.scope === null ? [] : authenticationErrors),
    ...(route.acceptsTicket === true ? ['ticket_invalid' as const] : []),
    ...(route.query === undefined ? [] : ['invalid_request' as const]),
    ...(route.body === undefined ? [] : bodyErrors),
    ...(route.rawBody === undefined ? [] : ['payload_too_large' as const]),
    ...(route.invalidParamsCode === undefined ? [] : [route.invalidParamsCode]),
    ...route.errors,
    ...commonErrors,
  ]),
];
