/** Parses all of a request by its route's schemas, and reports every fault with its place. */
import type * as z from 'zod';
import type { Fault } from '../../../lib/api/errors.ts';
import { idempotencyKeyIn } from '../../../lib/api/idempotency.ts';
import type { Route, RouteBody } from '../../../lib/api/route.ts';
import { pointer } from '../../../lib/engine/graph/findings.ts';
import { type ReadRequest, type Refusal, refuse } from '../operation.ts';
import type { HttpCall } from './http-call.ts';
import { isForm, readForm } from './read-form.ts';
import { readJson } from './read-json.ts';

type Part = { readonly value: unknown } | { readonly faults: readonly Fault[] };

export const readRequest = async (
  route: Route,
  call: HttpCall,
): Promise<{ readonly request: ReadRequest } | { readonly refusal: Refusal }> => {
  const params = route.params?.safeParse(named(route.params, call.params));
  if (params?.success === false) return { refusal: refuse(route.missing ?? 'not_found') };

  const raw = route.raw === undefined ? noBytes : call.bytes();
  if (raw.byteLength > (route.raw?.limitBytes ?? 0)) return { refusal: tooLarge(route.raw?.limitBytes ?? 0) };
  const given = await givenBody(route, call);
  if ('refusal' in given) return given;
  const header = call.headers['idempotency-key'];
  const idempotencyKey = idempotencyKeyIn(header ?? '');
  if (route.idempotencyKey === 'required' && header === undefined) return { refusal: refuse('idempotency_required') };

  const query = parsed(route.query, call.query, (path) => `query/${path.join('/')}`);
  const body = route.body === undefined ? { value: undefined } : readBody(route.body, given.text);
  const faults = [
    ...('faults' in query ? query.faults : []),
    ...('faults' in body ? body.faults : []),
    ...(takesKey(route) && header !== undefined && idempotencyKey === undefined ? [keyFault] : []),
  ];
  if ('faults' in query || 'faults' in body || faults.length > 0) {
    const code = route.body?.faultCode?.(faults) ?? 'invalid_request';
    return { refusal: refuse(code, { errors: faults }) };
  }
  return {
    request: {
      params: params?.data,
      query: query.value,
      body: body.value,
      accept: call.headers['accept'],
      idempotencyKey: idempotencyKey ?? '',
      attachment: given.file,
      raw,
      headers: call.headers,
    },
  };
};

const noBytes = new Uint8Array();

const tooLarge = (limitBytes: number): Refusal =>
  refuse('payload_too_large', { message: `The body is larger than ${limitBytes} bytes.` });

type GivenBody = { readonly text: string | undefined; readonly file?: Uint8Array };

/** The text that the route's schema judges, and the file beside it where it came as a form. */
const givenBody = async ({ body }: Route, call: HttpCall): Promise<GivenBody | { readonly refusal: Refusal }> => {
  if (body === undefined) return { text: undefined };
  const contentType = call.headers['content-type'];
  const form = contentType !== undefined && isForm(contentType) ? body.form : undefined;
  const limitBytes = form?.limitBytes ?? body.limitBytes;
  if (form === undefined || contentType === undefined) {
    return Buffer.byteLength(call.body ?? '') > limitBytes ? { refusal: tooLarge(limitBytes) } : { text: call.body };
  }
  const bytes = call.bytes();
  if (bytes.byteLength > limitBytes) return { refusal: tooLarge(limitBytes) };
  const read = await readForm(bytes, contentType, form);
  if (read.kind === 'refused') return { refusal: refuse('invalid_request', { errors: read.faults }) };
  return Buffer.byteLength(read.text) > body.limitBytes ? { refusal: tooLarge(limitBytes) } : read;
};

const takesKey = ({ idempotencyKey }: Route): boolean => idempotencyKey !== 'none';

const keyFault: Fault = {
  place: 'header/idempotency-key',
  code: 'invalid_format',
  message: 'must be 1 to 255 printable ASCII characters',
};

/** The gateway adds parameters of its own, such as `proxy`; only the route's are looked at. */
const named = (schema: z.ZodObject, given: HttpCall['params']): Record<string, unknown> =>
  Object.fromEntries(Object.keys(schema.shape).map((name) => [name, given[name]]));

const readBody = ({ schema, isOptional, prepare }: RouteBody, text: string | undefined): Part => {
  if (text === undefined && isOptional !== true) {
    return { faults: [{ place: '', code: 'body_missing', message: 'a JSON body is required' }] };
  }
  const read = readJson(text ?? '{}');
  if (read.kind === 'refused') return { faults: read.faults };
  return parsed(schema, prepare === undefined ? read.value : prepare(read.value), (path) => pointer(...path));
};

const parsed = (schema: z.ZodObject | undefined, value: unknown, place: (path: readonly (string | number)[]) => string): Part => {
  if (schema === undefined) return { value: undefined };
  const result = schema.safeParse(value);
  return result.success ? { value: result.data } : { faults: result.error.issues.flatMap((issue) => faultsOf(issue, place)) };
};

const faultsOf = (issue: z.core.$ZodIssue, place: (path: readonly (string | number)[]) => string): readonly Fault[] => {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  if (issue.code !== 'unrecognized_keys') return [{ place: place(path), code: issue.code, message: issue.message }];
  return issue.keys.map((key) => ({
    place: place([...path, key]),
    code: 'unknown_key',
    message: `nothing is called ${key} here`,
  }));
};
