/** Generates requests: about half are valid and refer to existing objects; the others are invalid in one or several ways. */
import fc from 'fast-check';
import type { ApiDocument, Operation, Schema } from './document.ts';
import { matchingValue, hostileValue } from './values.ts';

export interface FuzzRequest {
  readonly method: string;
  /** the path with its query, as sent */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | Uint8Array | undefined;
  /** the operation that it was generated for; another one or none may handle it */
  readonly operationId: string;
}

/** Existing ids, by the names of the parameters and properties that contain them. */
export interface ExistingIds {
  readonly [name: string]: readonly string[];
}

/** Bodies that need more than the schema to be valid. */
export type RequestBodies = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** A placeholder in a body for the path's id. */
export const confirmsName = '{the name in the path}';
/** A placeholder in a body for a new link, which works once and for a minute. */
export const newLink = '{a new link}';

/** Requests of a browser. A session ends with the request that signs out, so there are several. */
const ofBrowsers: ReadonlySet<string> = new Set([
  'exchangeSessionLink',
  'createSession',
  'getSignInProvider',
  'signInWithProvider',
  'raiseSession',
  'lowerSession',
  'getSession',
  'deleteSession',
]);

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'SEARCH'];
const tricks = [
  '/%2e%2e/v1/keys',
  '//v1//runs',
  '/v1/runs/%00',
  '/v1/../v1/health',
  '/v1/runs/%ff',
  '/',
  '/v1',
  '/v2/runs',
  '/v1/runs/a%2fb',
  '/v1/runs/%',
  '/v1/workflows/%F0%9F%98%80',
  '/v1/runs/wrun_%0d%0aset-cookie:x',
  '/v1/keys/../runs?%00=%00',
  '/v1/health?a=%ff&a=%',
  `/v1/workflows/${'n'.repeat(3_000)}`,
];
/** Names of members of every object. */
const inherited = ['toString', 'constructor', '__proto__', 'hasOwnProperty', 'valueOf'];
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 80,
});
const queryName = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom(...inherited) },
);
/** Key and content type come first: a hostile header with the same name is a second one. */
const headerNames = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'traceparent',
  'X-Workflow-Correlation-Id',
  'X-Forwarded-Proto',
  'X-Forwarded-For',
  'User-Agent',
  'X-Else',
  ...inherited,
];

/** An existing id, mostly. Those of an operation come before those of the name. */
type KnownOr = (name: string, schema: Schema, operationId?: string) => fc.Arbitrary<unknown>;

/** A rare request: with filters that match nothing it reads a year of days. */
const slow = ['listAudit'];

export const requestsOf = (
  document: ApiDocument,
  known: ExistingIds,
  bodies: RequestBodies,
  apiKey: string,
): fc.Arbitrary<FuzzRequest> => {
  const knownOr: KnownOr = (name, schema, operationId) => {
    const there = known[`${operationId}.${name}`] ?? known[name] ?? [];
    const made = matchingValue(document, schema);
    return there.length === 0
      ? made
      : fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...there) }, { weight: 1, arbitrary: made });
  };
  const anyGood = fc.oneof(
    ...document.operations.map((operation) => ({
      weight: slow.includes(operation.operationId) ? 1 : 4,
      arbitrary: goodRequest(document, operation, knownOr, bodies, apiKey),
    })),
  );
  return fc.oneof(
    { weight: 13, arbitrary: anyGood },
    {
      weight: 2,
      arbitrary: fc.tuple(anyGood, hostileValue).map(([request, body]) => ({ ...request, body: JSON.stringify(body) })),
    },
    { weight: 2, arbitrary: fc.tuple(anyGood, fc.nat(), hostileValue).map(spoiled) },
    {
      weight: 1,
      arbitrary: fc.tuple(anyGood, fc.uint8Array({ maxLength: 200 })).map(([request, body]) => ({ ...request, body })),
    },
    { weight: 1, arbitrary: fc.tuple(anyGood, fc.constantFrom(...methods)).map(([request, method]) => ({ ...request, method })) },
    { weight: 1, arbitrary: fc.tuple(anyGood, fc.constantFrom(...tricks)).map(([request, target]) => ({ ...request, target })) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(anyGood, fc.array(fc.tuple(fc.constantFrom(...headerNames), headerText), { minLength: 1, maxLength: 4 }))
        .map(([request, more]) => ({ ...request, headers: [...request.headers, ...more] })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(anyGood, queryName, fc.string({ unit: 'binary', maxLength: 20 }))
        .map(([request, name, value]) => ({ ...request, target: withQuery(request.target, [[name, value]]) })),
    },
  );
};

const withQuery = (target: string, pairs: readonly (readonly [string, string])[]): string => {
  if (pairs.length === 0) return target;
  const query = pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  return `${target}${target.includes('?') ? '&' : '?'}${query}`;
};
/** A lone surrogate has no UTF-8 encoding. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

/** One property of the body has an invalid value. */
const spoiled = ([request, at, value]: [FuzzRequest, number, unknown]): FuzzRequest => {
  if (typeof request.body !== 'string') return request;
  const body: unknown = JSON.parse(request.body);
  if (typeof body !== 'object' || body === null) return request;
  const names = Object.keys(body);
  const name = names[at % Math.max(1, names.length)] ?? 'more';
  return { ...request, body: JSON.stringify({ ...body, [name]: value }) };
};

const goodRequest = (
  document: ApiDocument,
  operation: Operation,
  knownOr: KnownOr,
  bodies: RequestBodies,
  apiKey: string,
): fc.Arbitrary<FuzzRequest> => {
  const { method, path, operationId, parameters, requestBody } = operation;
  const json = requestBody?.content['application/json']?.schema;
  const body = json === undefined ? fc.constant(undefined) : (bodies[operationId] ?? bodyOf(document, json, knownOr));
  const values = fc.tuple(
    ...parameters.map((parameter) =>
      fc.tuple(fc.constant(parameter), knownOr(parameter.name, parameter.schema, operationId), fc.integer({ min: 0, max: 3 })),
    ),
  );
  const idempotencyKey = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.uuid()).map(([one, fresh]) => (one === 0 ? 'again' : fresh));
  const cookies = ofBrowsers.has(operationId) ? knownOr('cookie', { type: 'string' }, operationId) : fc.constant(undefined);
  return fc.tuple(values, body, idempotencyKey, cookies).map(([given, content, key, cookie]) => {
    let target = path;
    const named = given.find(([parameter]) => parameter.in === 'path')?.[1];
    const query: (readonly [string, string])[] = [];
    for (const [parameter, value, chance] of given) {
      if (parameter.in === 'path') target = target.replace(`{${parameter.name}}`, encode(String(value)));
      else if (parameter.in === 'query' && (parameter.required || chance === 0)) query.push([parameter.name, String(value)]);
    }
    return {
      method,
      target: withQuery(target, query),
      headers: [
        ['Authorization', `Bearer ${apiKey}`],
        ['Content-Type', 'application/json'],
        ['Idempotency-Key', key],
        ...(typeof cookie !== 'string'
          ? []
          : ([
              ['Sec-Fetch-Site', 'same-origin'],
              ['Cookie', cookie.replaceAll(/[^\x21-\x7e]/g, '')],
            ] as const)),
      ],
      body: content === undefined ? undefined : JSON.stringify(content).replaceAll(confirmsName, String(named)),
      operationId,
    };
  });
};

/** A value of the schema, with ids of existing objects. */
const bodyOf = (document: ApiDocument, schema: Schema, knownOr: KnownOr) => {
  const { properties = {}, required = [] } = document.resolve(schema);
  const named = Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [
      name,
      required.includes(name) ? knownOr(name, member) : matchingValue(document, member),
    ]),
  );
  return fc
    .tuple(matchingValue(document, schema), fc.record(named))
    .map(([made, replaced]) =>
      typeof made === 'object' && made !== null
        ? { ...made, ...Object.fromEntries(Object.entries(replaced).filter(([name]) => required.includes(name))) }
        : made,
    );
};
