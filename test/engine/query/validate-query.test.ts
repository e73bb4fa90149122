/** Validation of queries: accepted drafts stay unchanged, and problems are findings with a code and a pointer. */
import { describe, expect, test } from 'vitest';
import { validateArguments } from '../../../lib/engine/query/arguments.ts';
import { type QueryDraft, queryLimits } from '../../../lib/engine/query/definition.ts';
import { validateQuery } from '../../../lib/engine/query/validate-query.ts';
import { queryName } from '../../../lib/engine/ids.ts';
import { durationMs, seconds } from '../../../lib/engine/time.ts';

const any = { name: queryName('orders'), parameters: [], maxBytes: 1_000, timeoutMs: seconds(30) } as const;
const postgres: QueryDraft = { ...any, kind: 'postgres', connection: 'orders-db', statement: 'select 1' };
const aurora: QueryDraft = { ...postgres, kind: 'aurora' };
const request = { method: 'GET', path: '/orders', query: {}, headers: {}, body: null } as const;
const http: QueryDraft = { ...any, kind: 'http', connection: 'https://api.example.com/v2', request };
const id = { name: 'id', type: 'string', required: true } as const;

const found = (draft: QueryDraft) => validateQuery(draft).findings.map(({ code, pointer, message }) => [code, pointer, message]);
const invalid = (place: string, message: string) => ['config_invalid', place, message];

describe('a query is accepted', () => {
  test.each(['postgres', 'aurora'] as const)('of %s: by default read-only with a thousand rows', (kind) => {
    expect(validateQuery({ ...postgres, kind })).toStrictEqual({
      query: { ...any, kind, connection: 'orders-db', statement: 'select 1', readOnly: true, maxRows: 1_000 },
      findings: [],
    });
    const said = { readOnly: false, maxRows: 7, description: 'all of them' };
    expect(validateQuery({ ...postgres, kind, ...said }).query).toMatchObject(said);
  });

  test('of http, unchanged', () => {
    expect(validateQuery(http)).toStrictEqual({ query: http, findings: [] });
  });

  test.each(['a', 'Orders_db.v2-x', 'x'.repeat(64)])('with the connection %s', (connection) => {
    expect(found({ ...postgres, connection })).toEqual([]);
  });

  test.each(['http://localhost:8080', 'HTTPS://api.example.com', 'https://api.example.com/', 'https://api.example.com/a/b:c'])(
    'with the service %s',
    (connection) => expect(found({ ...http, connection })).toEqual([]),
  );

  test.each(['', '/', '/orders/:id/lines', '/a//b'])('with the path "%s"', (path) => {
    const parameters = path.includes(':id') ? [id] : [];
    expect(found({ ...http, parameters, request: { ...request, path } })).toEqual([]);
  });
});

describe('a database query is rejected', () => {
  test.each(['postgres', 'aurora'] as const)('of %s: without a statement, and with a request', (kind) => {
    const { statement: _statement, ...without } = postgres;
    expect(found({ ...without, kind, request })).toEqual([
      invalid('/request', `a query of the kind ${kind} does not support this field`),
      invalid('/statement', `a query of the kind ${kind} needs a statement`),
    ]);
    expect(validateQuery({ ...without, kind })).not.toHaveProperty('query');
  });

  test.each(['', '-a', '.a', 'a b', 'a/b', 'x'.repeat(65)])('with the connection "%s"', (connection) => {
    expect(found({ ...postgres, connection })).toEqual([invalid('/connection', 'must be the name of a secret')]);
    expect(found({ ...aurora, connection })).toEqual([invalid('/connection', 'must be the name of a configured database')]);
  });

  test('with an unterminated statement', () => {
    expect(found({ ...postgres, statement: "select 'x" })).toEqual([
      ['statement_invalid', '/statement', 'the string or comment that begins at character 8 does not end'],
    ]);
    expect(validateQuery({ ...postgres, statement: "select 'x" })).not.toHaveProperty('query');
  });

  test('of Aurora, above the limits of the Data API, and not at them', () => {
    const { bytes, ms } = queryLimits.aurora;
    expect(found({ ...aurora, maxBytes: bytes, timeoutMs: durationMs(ms) })).toEqual([]);
    const more = { maxBytes: bytes + 1, timeoutMs: durationMs(ms + 1) };
    expect(found({ ...aurora, ...more })).toEqual([
      invalid('/maxBytes', 'the Data API returns at most 1048576 bytes'),
      invalid('/timeoutMs', 'the Data API ends a statement after 45000 ms'),
    ]);
    expect(found({ ...postgres, ...more })).toEqual([]);
  });

  test('of Aurora, with several statements', () => {
    const statement = 'select 1; select 2';
    expect(found({ ...aurora, statement })).toEqual([['statement_invalid', '/statement', 'contains more than one statement']]);
    expect(found({ ...postgres, statement })).toEqual([]);
  });
});

describe('an http query is rejected', () => {
  test('without a request, and with fields of database queries', () => {
    const { request: _request, ...without } = http;
    expect(found({ ...without, statement: 'select 1', readOnly: false, maxRows: 1 })).toEqual([
      ...['statement', 'readOnly', 'maxRows'].map((key) =>
        invalid(`/${key}`, 'a query of the kind http does not support this field'),
      ),
      invalid('/request', 'an http query needs a request'),
    ]);
    expect(validateQuery(without)).not.toHaveProperty('query');
  });

  test.each([
    'api.example.com',
    'ftp://api.example.com',
    'https://',
    'https://me@api.example.com',
    'https://api.example.com?x=1',
    'https://api.example.com/a#b',
    'https://api.example.com/{{ctx.a}}',
    'https://api.example.com/a b',
    String.raw`https://api.example.com\a`,
    ' https://api.example.com',
  ])('with the address %s', (connection) => {
    expect(found({ ...http, connection })).toEqual([
      invalid('/connection', 'must be an absolute http or https URL without user, query or fragment'),
    ]);
  });

  test.each(['orders', '/a?b', '/a#b', '/{{ctx.a}}', String.raw`/a\b`, 'x/a'])('with the path %s', (path) => {
    expect(found({ ...http, request: { ...request, path } })).toEqual([
      invalid('/request/path', 'must be path segments that begin with /, without query or templates'),
    ]);
  });

  test('with an invalid template in any field', () => {
    const broken = '{{ctx.id';
    const { findings } = validateQuery({
      ...http,
      request: { ...request, query: { a: [broken] }, headers: { b: broken }, body: { c: broken } },
    });
    expect(findings.map(({ code, pointer }) => [code, pointer])).toEqual([
      ['template_invalid', '/request/query/a/0'],
      ['template_invalid', '/request/headers/b'],
      ['template_invalid', '/request/body/c'],
    ]);
  });
});

describe('parameters', () => {
  test('that are not declared are named where they are used', () => {
    expect(found({ ...postgres, statement: 'select :a, :b', parameters: [{ ...id, name: 'b' }] })).toEqual([
      ['parameter_unknown', '/statement', 'no parameter a is declared'],
    ]);
    const asks = { path: '/:a', query: { x: '{{ctx.b}}' }, headers: { y: '{{ctx.c.d}}' }, body: ['{{ctx.e}}'] };
    expect(found({ ...http, request: { ...request, ...asks } })).toEqual([
      ['parameter_unknown', '/request/path', 'no parameter a is declared'],
      ['parameter_unknown', '/request/query', 'no parameter b is declared'],
      ['parameter_unknown', '/request/headers', 'no parameter c is declared'],
      ['parameter_unknown', '/request/body', 'no parameter e is declared'],
    ]);
  });

  test('that are not used are a warning, not an error', () => {
    const validation = validateQuery({ ...postgres, parameters: [id] });
    expect(validation.findings).toMatchObject([
      { severity: 'warning', code: 'parameter_unused', pointer: '/parameters/0/name', message: 'the query does not use id' },
    ]);
    expect(validation.query).toMatchObject({ parameters: [id] });
  });

  test('are declared once, with defaults of their type', () => {
    const parameters = [id, { name: 'n', type: 'number', required: false, default: 'many' } as const, id];
    expect(found({ ...postgres, statement: 'select :id, :n', parameters })).toEqual([
      ['argument_invalid', '/parameters/1/default', 'is not of the type number'],
      ['argument_invalid', '/parameters/2/name', 'id is declared twice'],
    ]);
    const fits = [{ name: 'n', type: 'number', required: false, default: 0 } as const];
    expect(found({ ...postgres, statement: 'select :n', parameters: fits })).toEqual([]);
  });
});

describe('arguments', () => {
  const parameters = [
    id,
    { name: 'count', type: 'number', required: false, default: 10 } as const,
    { name: 'after', type: 'string', required: false } as const,
  ];

  test('are accepted with defaults, and null without a default', () => {
    expect(validateArguments(parameters, { id: 'a' })).toEqual({ kind: 'accepted', values: { id: 'a', count: 10, after: null } });
    expect(validateArguments(parameters, { id: 'a', count: 0, after: '' })).toEqual({
      kind: 'accepted',
      values: { id: 'a', count: 0, after: '' },
    });
    expect(validateArguments(parameters, { id: 'a', count: null })).toMatchObject({ values: { count: 10 } });
  });

  test('are rejected together: unknown, missing and of another type', () => {
    expect(validateArguments(parameters, { count: 'many', after: 7, other: 1, id: null })).toEqual({
      kind: 'refused',
      errors: [
        'the query has no parameter other',
        'id is required',
        'count must be of the type number',
        'after must be of the type string',
      ],
    });
  });

  test('are own properties only', () => {
    expect(validateArguments([{ ...id, name: 'constructor' }], {})).toEqual({
      kind: 'refused',
      errors: ['constructor is required'],
    });
  });
});
