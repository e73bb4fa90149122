/** What a route is: everything about it that is not done by code. */
import type * as z from 'zod';
import type { KeyScope } from '../ports/control.ts';
import type { ErrorCode, Fault } from './errors.ts';

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** parameters in braces, as the gateway writes them */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  readonly summary: string;
  /** answered over plain HTTP too, where HTTPS is required: for probes that cannot do better, and tells nothing */
  readonly isAnsweredPlainly?: true;
  /** which function answers it */
  readonly servedBy: 'api' | 'events' | 'deployments' | 'library' | 'test-runs' | 'webhooks';
  /** null: no key is asked for */
  readonly scope: KeyScope | null;
  readonly params?: z.ZodObject;
  /** what a parameter that cannot be one is answered with: the same as an unknown one */
  readonly missing?: ErrorCode;
  readonly query?: z.ZodObject;
  readonly body?: RouteBody;
  /** taken as the bytes that were sent, whatever they are; no schema judges them */
  readonly raw?: { readonly limitBytes: number; readonly description: string };
  readonly idempotencyKey: 'required' | 'optional' | 'none';
  /** the name of the mutation in the audit trail; absent: nothing is changed */
  readonly action?: string;
  /** a ticket in the query lets in as well as a key in the header */
  readonly takesTicket?: true;
  /** answered as server-sent events too, for whoever asks for them; and with 204 where none will come any more */
  readonly streams?: { readonly description: string; readonly nothing: string };
  readonly answers: Readonly<Record<number, { readonly description: string; readonly schema: z.ZodType }>>;
  /** the codes of its own, beside those that every route has */
  readonly errors: readonly ErrorCode[];
}

export interface RouteBody {
  readonly schema: z.ZodObject;
  readonly limitBytes: number;
  /** an empty body counts as an empty object */
  readonly isOptional?: true;
  /** brings older spellings into form before the schema judges */
  readonly prepare?: (body: unknown) => unknown;
  /** what a body that does not fit the schema is answered with, by the places that do not; absent: invalid_request */
  readonly faultCode?: (faults: readonly Fault[]) => ErrorCode;
  /** the same body as the text part of a form, with a file beside it */
  readonly form?: { readonly text: string; readonly file: string; readonly limitBytes: number };
}

/** What can happen to every request, and to every request that needs a key. */
const commonErrors = ['internal', 'unavailable'] as const satisfies readonly ErrorCode[];
const keyedErrors = ['key_in_query', 'unauthorized', 'missing_scope', 'rate_limited'] as const satisfies readonly ErrorCode[];
const bodyErrors = ['invalid_request', 'payload_too_large'] as const satisfies readonly ErrorCode[];

export const errorsOf = (route: Route): readonly ErrorCode[] => [
  ...new Set<ErrorCode>([
    ...(route.isAnsweredPlainly === true ? [] : ['https_required' as const]),
    ...(route.scope === null ? [] : keyedErrors),
    ...(route.takesTicket === true ? ['ticket_invalid' as const] : []),
    ...(route.query === undefined ? [] : ['invalid_request' as const]),
    ...(route.body === undefined ? [] : bodyErrors),
    ...(route.raw === undefined ? [] : ['payload_too_large' as const]),
    ...(route.missing === undefined ? [] : [route.missing]),
    ...route.errors,
    ...commonErrors,
  ]),
];
