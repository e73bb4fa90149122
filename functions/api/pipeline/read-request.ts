/** Parses a request with its route's schemas and reports every error with its JSON pointer. */
import type * as z from 'zod';
import { errorsOfIssue } from '../../../lib/api/body-errors.ts';
import type { ErrorCode, ErrorDetail } from '../../../lib/api/errors.ts';
import { describeJsonError } from '../../../lib/api/json-errors.ts';
import { parseIdempotencyKey } from '../../../lib/api/idempotency.ts';
import type { Route, RouteBody } from '../../../lib/api/route.ts';
import { defined } from '../../../lib/base/defined.ts';
import { parseExternalRunId } from '../../../lib/engine/external/run.ts';
import { jsonPointer } from '../../../lib/engine/graph/findings.ts';
import { findBodyError } from '../../../lib/engine/validate-json.ts';
import { type ParsedRequest, type Refusal, refuse } from '../operation.ts';
import type { HttpCall } from './http-call.ts';

type ParsedPart =
  | { readonly value: unknown }
  | {
      readonly errors: readonly ErrorDetail[];
      /** the value without its unknown keys, if nothing else is wrong with it */
      readonly known?: unknown;
    };

export const readRequest = async (
  route: Route,
  call: HttpCall,
): Promise<{ readonly request: ParsedRequest } | { readonly refusal: Refusal; readonly known?: unknown }> => {
  const params = route.params?.safeParse(pickParams(route.params, call.params));
  if (params?.success === false) return { refusal: refuse(paramsErrorOf(route, call)) };

  const raw = route.rawBody === undefined ? noBytes : call.bytes();
  if (raw.byteLength > (route.rawBody?.limitBytes ?? 0)) return { refusal: tooLarge(route.rawBody?.limitBytes ?? 0) };
  const received = await readBodyText(route, call);
  if ('refusal' in received) return received;
  const header = call.headers['idempotency-key'];
  const idempotencyKey = parseIdempotencyKey(header ?? '');
  if (route.idempotencyKey === 'required' && header === undefined) return { refusal: refuse('idempotency_required') };

  const query = parsePart(route.query, call.query, (path) => `query/${path.join('/')}`);
  const body = route.body === undefined ? { value: undefined } : readBody(route.body, received.text);
  const errors = [
    ...('errors' in query ? query.errors : []),
    ...('errors' in body ? body.errors : []),
    ...(acceptsIdempotencyKey(route) && header !== undefined && idempotencyKey === undefined ? [idempotencyKeyError] : []),
  ];
  if ('errors' in query || 'errors' in body || errors.length > 0) {
    const code = route.body?.errorCodeFor?.(errors) ?? 'invalid_request';
    const known = 'errors' in body && errors.length === body.errors.length ? body.known : undefined;
    return defined({ refusal: refuse(code, { errors }), known });
  }
  return {
    request: {
      params: params?.data,
      query: query.value,
      body: body.value,
      accept: call.headers['accept'],
      idempotencyKey: idempotencyKey ?? '',
      attachment: received.file,
      raw,
      headers: call.headers,
    },
  };
};

/** The id of an external-worker run is valid only on the routes that apply to such runs. */
const paramsErrorOf = ({ errors, invalidParamsCode = 'not_found' }: Route, { params }: HttpCall): ErrorCode =>
  errors.includes('external_run') && parseExternalRunId(params['runId'] ?? '') !== undefined ? 'external_run' : invalidParamsCode;

const noBytes = new Uint8Array();

const tooLarge = (limitBytes: number): Refusal =>
  refuse('payload_too_large', { message: `The body is larger than ${limitBytes} bytes.` });

type BodyText = { readonly text: string | undefined; readonly file?: Uint8Array };

/** The text that the route's body schema validates, and the file of a multipart form. */
const readBodyText = async ({ body }: Route, call: HttpCall): Promise<BodyText | { readonly refusal: Refusal }> => {
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
  if (read.kind === 'refused') return { refusal: refuse('invalid_request', { errors: read.errors }) };
  return Buffer.byteLength(read.text) > body.limitBytes ? { refusal: tooLarge(limitBytes) } : read;
};

const acceptsIdempotencyKey = ({ idempotencyKey }: Route): boolean => idempotencyKey !== 'none';

const idempotencyKeyError: ErrorDetail = {
  pointer: 'header/idempotency-key',
  code: 'invalid_format',
  message: 'must be 1 to 255 printable ASCII characters',
};

/** Keeps only the route's parameters: the gateway adds its own, such as `proxy`. */
const pickParams = (schema: z.ZodObject, received: HttpCall['params']): Record<string, unknown> =>
  Object.fromEntries(Object.keys(schema.shape).map((name) => [name, received[name]]));

const readBody = ({ schema, isOptional, normalizeBody }: RouteBody, text: string | undefined): ParsedPart => {
  if (text === undefined && isOptional !== true) {
    return { errors: [{ pointer: '', code: 'body_missing', message: 'a JSON body is required' }] };
  }
  const read = readJson(text ?? '{}');
  if (read.kind === 'refused') return { errors: read.errors };
  return parsePart(schema, normalizeBody === undefined ? read.value : normalizeBody(read.value), (path) => jsonPointer(...path));
};

const parsePart = (
  schema: z.ZodObject | undefined,
  value: unknown,
  pointer: (path: readonly (string | number)[]) => string,
): ParsedPart => {
  if (schema === undefined) return { value: undefined };
  const result = schema.safeParse(value);
  if (result.success) return { value: result.data };
  const { issues } = result.error;
  const errors = issues.flatMap((issue) => errorsOfIssue(issue, pointer));
  const unknown = issues.filter((issue) => issue.code === 'unrecognized_keys');
  if (unknown.length < issues.length) return { errors };
  // A schema checks how fields fit together only where every key is known, so an unknown key would hide the other errors.
  const rest = schema.safeParse(unknown.reduce(withoutKeys, structuredClone(value)));
  return rest.success
    ? { errors, known: rest.data }
    : { errors: [...errors, ...rest.error.issues.flatMap((issue) => errorsOfIssue(issue, pointer))] };
};

/** Removes the unknown keys of an issue. The value is a clone, which may change. */
function withoutKeys(value: unknown, { path, keys }: z.core.$ZodIssueUnrecognizedKeys): unknown {
  let parent: unknown = value;
  for (const step of path) parent = typeof parent === 'object' && parent !== null ? Reflect.get(parent, step) : undefined;
  if (typeof parent === 'object' && parent !== null) for (const key of keys) Reflect.deleteProperty(parent, key);
  return value;
}

type ReadFormResult =
  | { readonly kind: 'read'; readonly text: string; readonly file: Uint8Array }
  | { readonly kind: 'refused'; readonly errors: readonly ErrorDetail[] };

const isForm = (contentType: string | undefined): boolean => /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

async function readForm(
  bytes: Uint8Array,
  contentType: string,
  names: { readonly text: string; readonly file: string },
): Promise<ReadFormResult> {
  const form = await parseForm(bytes, contentType);
  if (form === undefined) return refuseForm('', 'not_multipart', 'the body is not valid multipart/form-data');
  const expectedFields: readonly string[] = Object.values(names);
  const unknownField = [...form.keys()].find((name) => !expectedFields.includes(name));
  if (unknownField !== undefined) return refuseForm(`/${unknownField}`, 'unknown_key', `${unknownField} is not a known part`);
  const singleField = (name: string) => (form.getAll(name).length === 1 ? form.get(name) : null);
  const [text, file] = [singleField(names.text), singleField(names.file)];
  if (text === null) return refuseForm('', 'part_missing', `one part "${names.text}" is required`);
  if (file === null || typeof file === 'string') return refuseForm('', 'part_missing', `one file "${names.file}" is required`);
  return {
    kind: 'read',
    text: typeof text === 'string' ? text : await text.text(),
    file: new Uint8Array(await file.arrayBuffer()),
  };
}

const parseForm = async (bytes: Uint8Array, contentType: string): Promise<FormData | undefined> => {
  try {
    return await new Response(Buffer.from(bytes), { headers: { 'content-type': contentType } }).formData();
  } catch {
    return undefined;
  }
};

const refuseForm = (pointer: string, code: string, message: string): ReadFormResult => ({
  kind: 'refused',
  errors: [{ pointer, code, message }],
});

export type ReadJsonResult =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly errors: readonly ErrorDetail[] };

export const readJson = (text: string): ReadJsonResult => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'refused', errors: [{ pointer: '', code: 'not_json', message: describeJsonError(text) }] };
  }
  const finding = findBodyError(value);
  if (finding === undefined) return { kind: 'read', value };
  return {
    kind: 'refused',
    errors: [{ pointer: jsonPointer(...finding.path), code: finding.code, message: `the body ${finding.message}` }],
  };
};
