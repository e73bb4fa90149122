/** Aurora queries through the Data API, over its real protocol. */
import { RDSDataClient } from '@aws-sdk/client-rds-data';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DataApi } from '../../../lib/aws/data-api.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { QueryDraft } from '../../../lib/engine/query/definition.ts';
import { durationMs } from '../../../lib/engine/time.ts';
import { outputOf } from '../given.ts';
import { DataApiServer, Said } from './data-api.ts';
import { type Asking, ask } from './given.ts';

const server = new DataApiServer();
const regions: string[] = [];
let api: DataApi;
beforeAll(async () => {
  await server.start();
  api = new DataApi((region) => {
    regions.push(region);
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
    return new RDSDataClient({ region, endpoint: server.endpoint, maxAttempts: 1, credentials });
  });
}, 60_000);
afterAll(() => server.stop());
beforeEach(async () => {
  await server.reset();
  await server.db.exec(`
    drop table if exists orders;
    create table orders (id int primary key, customer text, total numeric);
    insert into orders values (1, 'ann', 10.50), (2, 'bob', 20), (3, 'o''neil', null);
  `);
});

const place = {
  clusterArn: 'arn:aws:rds:eu-central-1:111122223333:cluster:orders',
  secretArn: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:orders-AbCdEf',
  database: 'shop',
};
const databases = {
  targetOf: async ({ projectId, environment }: { projectId: string; environment: string }, name: string) =>
    projectId === 'acme' && environment === 'test' && name === 'orders' ? place : undefined,
  service: async () => api,
};
const parameter = (name: string, type: 'string' | 'number' | 'boolean' | 'object' | 'array', required = true) => ({
  name,
  type,
  required,
});
const run = (query: Partial<QueryDraft>, values: JsonObject = {}, more: Partial<Asking> = {}) =>
  ask({ query: { kind: 'aurora', connection: 'orders', ...query }, values, databases, ...more });
const rows = async (...given: Parameters<typeof run>) => {
  const outcome = await run(...given);
  expect(outcome).toMatchObject({ kind: 'finished', handle: 'output' });
  return outputOf(outcome);
};
const failure = async (...given: Parameters<typeof run>) => {
  const outcome = await run(...given);
  return outcome.kind === 'failed' ? outcome.failure : outcome;
};
/** What a failure shows apart from the arguments of the attempt. */
const withoutInput = (failed: Awaited<ReturnType<typeof failure>>) =>
  'details' in failed ? { ...failed, details: { ...failed.details, input: undefined } } : failed;
const count = async () => (await server.db.query('select count(*)::int as n from orders')).rows;
const never = () => new Promise(() => undefined);
const fails = (path: string, type: string, message = 'as it is', status = 400) =>
  server.instead.set(path, () => {
    throw new Said(type, message, status);
  });

const byCustomer = { statement: 'select id from orders where customer = :c order by id', parameters: [parameter('c', 'string')] };

describe('a result', () => {
  test('has its rows and the query’s version', async () => {
    expect(await rows(byCustomer, { c: '{{ctx.who}}' }, { context: { who: 'ann' } })).toEqual({
      rows: [{ id: 1 }],
      rowCount: 1,
      query: 'q',
      version: 3,
    });
    expect(regions).toEqual(['eu-central-1']);
    const whose = { resourceArn: place.clusterArn, secretArn: place.secretArn };
    for (const { body, authorization } of server.calls) {
      expect(body).toMatchObject(whose);
      expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-central-1\/rds-data\//);
    }
    expect(server.paths).toEqual(['/BeginTransaction', '/Execute', '/Execute', '/RollbackTransaction']);
    expect(server.calls[2]?.body).toMatchObject({ database: 'shop', transactionId: expect.stringMatching(/^tx-/) });
  });

  test('has an exact JSON form for each type', async () => {
    const statement = `select 1::int2 as small, 2147483647 as int, 9007199254740993 as big, 5::int8 as long, 1.50::numeric as exact,
      1.5::float8 as double, 'NaN'::float8 as nan, true as yes, false as no, null::int as none, 'tëxt' as text, '' as empty_text,
      '{"a":[1,null]}'::jsonb as json, 'null'::json as json_null, '\\xdeadbeef'::bytea as bytes, date '2026-01-31' as day,
      timestamp '2026-01-31 12:00:00.5' as local, timestamptz '2026-01-31 12:00:00+02' as moment,
      array[1,null,3] as ints, array['a,b','c"d'] as texts, array[[1,2],[3,4]] as grid, array[]::int[] as empty,
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid as uuid`;
    expect(await rows({ statement })).toMatchObject({
      rows: [
        {
          small: 1,
          int: 2_147_483_647,
          big: '9007199254740993',
          long: 5,
          exact: '1.50',
          double: 1.5,
          nan: 'NaN',
          yes: true,
          no: false,
          none: null,
          text: 'tëxt',
          empty_text: '',
          json: { a: [1, null] },
          json_null: null,
          bytes: '\\xdeadbeef',
          day: '2026-01-31',
          local: '2026-01-31T12:00:00.5',
          moment: '2026-01-31T10:00:00Z',
          ints: [1, null, 3],
          texts: ['a,b', 'c"d'],
          grid: [
            [1, 2],
            [3, 4],
          ],
          empty: [],
          uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
        },
      ],
    });
  });

  test('of a writing statement is committed, and has its rows', async () => {
    const statement = 'update orders set total = :t where id = 1';
    const write = { statement, readOnly: false, parameters: [parameter('t', 'number')] };
    expect(await rows(write, { t: 99.5 })).toMatchObject({ rows: [], rowCount: 0 });
    expect((await server.db.query('select total from orders where id = 1')).rows).toEqual([{ total: '99.5' }]);
    expect(server.paths.at(-1)).toBe('/CommitTransaction');
  });
});

describe('an argument is always a value', () => {
  test.each([
    "'; drop table orders; --",
    "ann' or '1'='1",
    String.raw`\'; delete from orders; --`,
    '$1; drop table orders',
    ':c',
    '{{secret:db}}',
    '/* */ union select 1',
  ])('%s', async (c) => {
    expect(await rows(byCustomer, { c })).toMatchObject({ rows: [] });
    await server.db.query('insert into orders values (9, $1, 1)', [c]);
    expect(await rows(byCustomer, { c: '{{ctx.c}}' }, { context: { c } })).toMatchObject({ rows: [{ id: 9 }] });
    expect(server.calls[2]?.body.sql).toBe(byCustomer.statement);
    expect(await count()).toEqual([{ n: 4 }]);
  });

  test('of every type, in the form of the Data API', async () => {
    const given = { s: 'x', n: 1.25, i: 7, b: false, o: { a: ["'"] }, l: ['a', 'b"c', 3], nothing: null };
    const parameters = [
      parameter('s', 'string'),
      parameter('n', 'number'),
      parameter('i', 'number'),
      parameter('b', 'boolean'),
      parameter('o', 'object'),
      parameter('l', 'array'),
      parameter('nothing', 'string', false),
    ];
    const statement = `select :s as s, :n as n, :i as i, :b as b, :o as o, :l as l, :nothing::text is null as nothing, :s || :s as twice`;
    expect(await rows({ statement, parameters }, given)).toMatchObject({
      rows: [{ s: 'x', n: 1.25, i: 7, b: false, o: { a: ["'"] }, l: ['a', 'b"c', 3], nothing: true, twice: 'xx' }],
    });
    expect(server.calls[2]?.body.parameters).toEqual([
      { name: 's', value: { stringValue: 'x' } },
      { name: 'n', value: { doubleValue: 1.25 } },
      { name: 'i', value: { longValue: 7 } },
      { name: 'b', value: { booleanValue: false } },
      { name: 'o', value: { stringValue: `{"a":["'"]}` }, typeHint: 'JSON' },
      { name: 'l', value: { stringValue: '["a","b\\"c",3]' }, typeHint: 'JSON' },
      { name: 'nothing', value: { isNull: true } },
    ]);
  });
});

describe('a read-only query', () => {
  test.each(['delete from orders', 'insert into orders values (7)', 'drop table orders', "select nextval('s')"])(
    'cannot %s',
    async (statement) => {
      await server.db.exec('create sequence if not exists s');
      expect(await failure({ statement })).toMatchObject({
        cause: 'invalid',
        code: 'query_failed',
        details: { sqlState: '25006' },
      });
      expect(await count()).toEqual([{ n: 3 }]);
      expect(server.paths.at(-1)).toBe('/RollbackTransaction');
    },
  );

  test('cannot switch itself to read-write', async () => {
    for (const statement of ["select set_config('transaction_read_only', 'off', true)", 'set transaction read write'])
      expect(await failure({ statement })).toMatchObject({ code: 'query_failed', details: { sqlState: '25001' } });
  });
});

describe('a too large result is rejected', () => {
  const tooLarge = { cause: 'invalid', code: 'result_too_large' };

  test('by rows', async () => {
    const statement = 'select n from generate_series(1, 1001) n';
    expect(await failure({ statement })).toMatchObject({
      ...tooLarge,
      message: expect.stringContaining('more than 1000 rows'),
    });
    expect(await rows({ statement, maxRows: 1_001 })).toMatchObject({ rowCount: 1_001 });
  });

  test('by bytes', async () => {
    const statement = "select repeat('x', 9993) as x";
    const message = expect.stringContaining('more than 10000 bytes');
    expect(await failure({ statement, maxBytes: 10_000 })).toMatchObject({ ...tooLarge, message });
    expect(await rows({ statement, maxBytes: 10_001 })).toMatchObject({ rowCount: 1 });
  });

  test('by the service', async () => {
    const statement = "select repeat('x', 1000) from generate_series(1, 2000)";
    const message = expect.stringContaining('more than the limit of the Data API');
    expect(await failure({ statement, maxRows: 10_000 })).toMatchObject({ ...tooLarge, message });
  });

  test('and its changes are rolled back', async () => {
    const statement = 'delete from orders returning *';
    expect(await failure({ statement, readOnly: false, maxRows: 1 })).toMatchObject(tooLarge);
    expect(server.paths.at(-1)).toBe('/RollbackTransaction');
    expect(await count()).toEqual([{ n: 3 }]);
  });
});

describe('errors have the right cause', () => {
  test('an SQL error is invalid, with its position, and not retried', async () => {
    expect(await failure({ statement: 'select * frm orders' })).toEqual({
      cause: 'invalid',
      code: 'query_failed',
      message: 'ERROR: syntax error at or near "frm"',
      details: { sqlState: '42601', position: '10', input: { query: 'q', version: 3, arguments: {} } },
    });
    expect(await failure({ statement: 'select * from nowhere' })).toMatchObject({ cause: 'invalid', code: 'query_failed' });
  });

  test('an error of the values may be retried', async () => {
    expect(await failure({ statement: 'select 1 / 0' })).toMatchObject({ cause: 'error', details: { sqlState: '22012' } });
    fails('/Execute', 'BadRequestException', 'ERROR: deadlock detected\n  Detail: Process 1 waits; SQLState: 40P01');
    expect(await failure(byCustomer, { c: 'x' })).toEqual({
      cause: 'error',
      code: 'query_failed',
      message: 'ERROR: deadlock detected',
      details: { sqlState: '40P01', input: { query: 'q', version: 3, arguments: { c: 'x' } } },
    });
  });

  test('an argument that the database repeats is redacted, and shown only as the input of the attempt', async () => {
    const cast = { statement: 'select :c::int', parameters: [parameter('c', 'string')] };
    for (const c of ['planted-value', 'zq']) {
      const said = await failure(cast, { c });
      expect(said).toMatchObject({ message: expect.stringContaining('[argument c]') });
      expect(JSON.stringify(withoutInput(said))).not.toContain(c);
      expect(said).toMatchObject({ details: { input: { arguments: { c } } } });
    }
    const twice = {
      statement: "insert into orders values (:id, 'x', 1)",
      readOnly: false,
      parameters: [parameter('id', 'number')],
    };
    fails('/Execute', 'DatabaseErrorException', 'ERROR: duplicate key\n  Detail: Key (id)=(1) exists; SQLState: 23505');
    expect(await failure(twice, { id: 1 })).toMatchObject({ message: 'ERROR: duplicate key', details: { sqlState: '23505' } });
    const nested = { statement: 'select :o::text::int', parameters: [parameter('o', 'object')] };
    const said = withoutInput(await failure(nested, { o: { a: ['planted-value'] } }));
    expect(JSON.stringify(said)).not.toContain('planted-value');
  });

  test.each([
    ['BadRequestException', 'Named parameter x is missing', 400, { cause: 'invalid', code: 'query_failed' }],
    ['UnsupportedResultException', 'a type', 400, { cause: 'invalid', code: 'query_failed' }],
    ['StatementTimeoutException', 'timed out', 400, { cause: 'timeout', code: 'query_timeout' }],
    ['DatabaseErrorException', 'ERROR: too long; SQLState: 57014', 400, { cause: 'timeout', code: 'query_timeout' }],
    ['DatabaseResumingException', 'resuming', 400, { cause: 'provider_error', code: 'database_unreachable' }],
    ['DatabaseUnavailableException', 'x', 504, { cause: 'provider_error', code: 'database_unreachable' }],
    ['ServiceUnavailableError', 'x', 503, { cause: 'provider_error', code: 'database_unreachable' }],
    ['InternalServerErrorException', 'x', 500, { cause: 'provider_error', code: 'database_unreachable' }],
    ['BadRequestException', 'Transaction AbC= is not found', 400, { cause: 'provider_error', code: 'database_unreachable' }],
    [
      'DatabaseErrorException',
      'FATAL: too many; SQLState: 53300',
      400,
      { cause: 'provider_error', code: 'database_unreachable' },
    ],
    ['ThrottlingException', 'Rate exceeded', 400, { cause: 'rate_limit', code: 'database_busy' }],
    ['AccessDeniedException', 'User: arn:aws:planted', 403, { cause: 'forbidden', code: 'connection_forbidden' }],
    ['ForbiddenException', 'arn:aws:planted', 403, { cause: 'forbidden', code: 'connection_forbidden' }],
    ['DatabaseNotFoundException', 'arn:aws:planted', 404, { cause: 'invalid', code: 'connection_invalid' }],
    ['SecretsErrorException', 'arn:aws:planted', 400, { cause: 'invalid', code: 'connection_invalid' }],
    ['BadRequestException', 'HttpEndpoint is not enabled for arn:aws:planted', 400, { code: 'connection_invalid' }],
    ['BadRequestException', 'cannot with arn:aws:planted', 400, { cause: 'invalid', code: 'query_failed' }],
  ] as const)('%s: %s (%d)', async (type, message, status, expected) => {
    for (const path of ['/BeginTransaction', '/Execute']) {
      await server.reset();
      fails(path, type, message, status);
      const said = await failure(byCustomer, { c: 'x' });
      expect(said).toMatchObject(expected);
      expect(JSON.stringify(said)).not.toContain('planted');
    }
    expect(server.paths.at(-1)).toBe('/RollbackTransaction');
  });

  test('a failed commit is reported, and sent once', async () => {
    fails('/CommitTransaction', 'ServiceUnavailableError', 'x', 503);
    const write = { statement: 'delete from orders', readOnly: false };
    expect(await failure(write)).toMatchObject({ cause: 'provider_error', code: 'database_unreachable' });
    expect(server.paths.filter((path) => path === '/CommitTransaction')).toHaveLength(1);
  });

  test('a failed rollback does not change the result', async () => {
    fails('/RollbackTransaction', 'ServiceUnavailableError', 'x', 503);
    expect(await rows(byCustomer, { c: 'ann' })).toMatchObject({ rowCount: 1 });
  });

  test('a query of a hanging database ends at the time limit, which the database receives too', async () => {
    server.instead.set('/Execute', never);
    const answer = await failure(byCustomer, { c: 'x' }, { timeoutMs: durationMs(300) });
    expect(answer).toMatchObject({ cause: 'timeout', code: 'query_timeout', message: 'q took longer than 300 ms' });
    expect(server.calls[1]?.body).toMatchObject({
      sql: expect.stringContaining("set_config('statement_timeout', :limit, true)"),
      parameters: [
        { name: 'limit', value: { stringValue: '300' } },
        { name: 'readOnly', value: { stringValue: 'on' } },
      ],
    });
    expect(server.paths.at(-1)).toBe('/RollbackTransaction');
  });

  test('an aborted attempt ends immediately, with its transaction', async () => {
    const stop = new AbortController();
    server.instead.set('/Execute', never);
    const asked = run(byCustomer, { c: 'x' }, { signal: stop.signal });
    await expect.poll(() => server.paths.length).toBe(3);
    stop.abort(new Error('the run has ended'));
    await expect(asked).rejects.toThrow('the run has ended');
    expect(server.paths.at(-1)).toBe('/RollbackTransaction');
  });

  test.each([
    ['another name', { connection: 'other' }, {}],
    ['a worker that is told of none', {}, { databases: { ...databases, targetOf: async () => undefined } }],
  ])('no request is sent without a configured database: %s', async (_what, query, more) => {
    const said = await failure({ ...byCustomer, ...query }, { c: 'x' }, more);
    expect(said).toMatchObject({
      cause: 'invalid',
      code: 'connection_invalid',
      message: expect.stringMatching(/^the setting "databases" has no (other|orders) for this project and environment$/),
    });
    expect(server.calls).toEqual([]);
  });
});
