/** Postgres queries over the real protocol. */
import * as z from 'zod';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../lib/engine/json.ts';
import type { QueryDraft } from '../../../lib/engine/query/definition.ts';
import { durationMs } from '../../../lib/engine/time.ts';
import { outputOf } from '../given.ts';
import { type Database, connectionTo, sendEndlessRow, startDatabase, startSilent } from './database.ts';
import { type Asking, ask } from './given.ts';

let database: Database;
beforeAll(async () => {
  database = await startDatabase();
}, 60_000);
afterAll(() => database.stop());
beforeEach(async () => {
  await database.db.exec(`
    drop table if exists orders;
    create table orders (id int primary key, customer text, total numeric);
    insert into orders values (1, 'ann', 10.50), (2, 'bob', 20), (3, 'o''neil', null);
  `);
});

const parameter = (name: string, type: 'string' | 'number' | 'boolean' | 'object' | 'array', required = true) => ({
  name,
  type,
  required,
});
const run = (query: Partial<QueryDraft>, values: JsonObject = {}, more: Partial<Asking> = {}) =>
  ask({ query, values, secrets: { db: database.connection }, ...more });
const rows = async (...given: Parameters<typeof run>) => {
  const outcome = await run(...given);
  expect(outcome).toMatchObject({ kind: 'finished', handle: 'output' });
  return outputOf(outcome);
};
const failure = async (...given: Parameters<typeof run>) => {
  const outcome = await run(...given);
  return outcome.kind === 'failed' ? outcome.failure : outcome;
};
const count = async () => (await database.db.query('select count(*)::int as n from orders')).rows;

const byCustomer = { statement: 'select id from orders where customer = :c order by id', parameters: [parameter('c', 'string')] };

describe('a result', () => {
  test('has its rows and the query’s version', async () => {
    expect(await rows(byCustomer, { c: '{{ctx.who}}' }, { context: { who: 'ann' } })).toEqual({
      rows: [{ id: 1 }],
      rowCount: 1,
      query: 'q',
      version: 3,
    });
  });

  test('has an exact JSON form for each type', async () => {
    const statement = `select 1::int2 as small, 2147483647 as int, 9007199254740993 as big, 5::int8 as long, 1.50::numeric as exact,
      1.5::float8 as double, 'NaN'::float8 as nan, true as yes, null::int as none, 'tëxt' as text,
      '{"a":[1,null]}'::jsonb as json, 'null'::json as json_null, '\\xdeadbeef'::bytea as bytes, date '2026-01-31' as day,
      timestamp '2026-01-31 12:00:00.5' as local, timestamptz '2026-01-31 12:00:00+02' as moment,
      array[1,null,3] as ints, array['a,b','c"d','\\e','NULL',null] as texts, array[[1,2],[3,4]] as grid, array[]::int[] as empty,
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid as uuid, array['{"x":1}'::jsonb] as objects`;
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
          none: null,
          text: 'tëxt',
          json: { a: [1, null] },
          json_null: null,
          bytes: '\\xdeadbeef',
          day: '2026-01-31',
          local: '2026-01-31T12:00:00.5',
          moment: '2026-01-31T10:00:00Z',
          ints: [1, null, 3],
          texts: ['a,b', 'c"d', '\\e', 'NULL', null],
          grid: [
            [1, 2],
            [3, 4],
          ],
          empty: [],
          uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
          objects: [{ x: 1 }],
        },
      ],
    });
  });

  test('of a statement without rows has none', async () => {
    const statement = 'update orders set total = :t where id = 1';
    expect(await rows({ statement, readOnly: false, parameters: [parameter('t', 'number')] }, { t: 99.5 })).toMatchObject({
      rows: [],
      rowCount: 0,
    });
    expect((await database.db.query('select total from orders where id = 1')).rows).toEqual([{ total: '99.5' }]);
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
    'a\u2019; drop table orders --',
    '/* */ union select 1',
  ])('%s', async (c) => {
    expect(await rows(byCustomer, { c })).toMatchObject({ rows: [] });
    expect(await count()).toEqual([{ n: 3 }]);
    await database.db.query('insert into orders values (9, $1, 1)', [c]);
    expect(await rows(byCustomer, { c: '{{ctx.c}}' }, { context: { c } })).toMatchObject({ rows: [{ id: 9 }] });
  });

  test('of every type', async () => {
    const given = { s: 'x', n: 1.25, b: false, o: { a: ["'"] }, l: ['a', 'b"c', "d'e"], nothing: null };
    const parameters = [
      parameter('s', 'string'),
      parameter('n', 'number'),
      parameter('b', 'boolean'),
      parameter('o', 'object'),
      parameter('l', 'array'),
      parameter('nothing', 'string', false),
      { ...parameter('preset', 'number', false), default: 7 },
    ];
    const statement = `select :s as s, :n::numeric as n, :b::bool as b, :o::jsonb as o, :l::text[] as l,
      :nothing::text is null as nothing, :preset::int as preset, :s || :s as twice`;
    expect(await rows({ statement, parameters }, given)).toMatchObject({
      rows: [{ s: 'x', n: '1.25', b: false, o: { a: ["'"] }, l: ['a', 'b"c', "d'e"], nothing: true, preset: 7, twice: 'xx' }],
    });
  });

  test.each([
    [{}, 'c is required'],
    [{ c: null }, 'c is required'],
    [{ c: 5 }, 'c must be of the type string'],
    [{ c: 'x', d: 1 }, 'the query has no parameter d'],
  ])('%j does not match: %s', async (values, words) => {
    const answer = await failure(byCustomer, values);
    expect(answer).toMatchObject({ cause: 'invalid', code: 'arguments_invalid', message: expect.stringContaining(words) });
  });
});

describe('a read-only query', () => {
  test.each(['delete from orders', 'insert into orders values (7)', 'drop table orders', "select nextval('s')"])(
    'cannot %s',
    async (statement) => {
      await database.db.exec('create sequence if not exists s');
      expect(await failure({ statement })).toMatchObject({
        cause: 'error',
        code: 'query_failed',
        details: { sqlState: '25006' },
      });
      expect(await count()).toEqual([{ n: 3 }]);
    },
  );

  test('is one statement', async () => {
    expect(await failure({ statement: 'select 1; delete from orders' })).toMatchObject({
      code: 'query_failed',
      details: { sqlState: '42601' },
    });
    expect(await failure({ statement: 'commit; delete from orders', readOnly: false })).toMatchObject({ code: 'query_failed' });
    expect(await count()).toEqual([{ n: 3 }]);
  });
});

describe('a too large result is rejected without buffering it', () => {
  const tooLarge = { cause: 'invalid', code: 'result_too_large' };

  test('by rows: of a million rows, only the fetched ones are computed', async () => {
    await database.db.exec('drop sequence if exists made; create sequence made');
    const statement = `select nextval('made') from generate_series(1, 1000000)`;
    const answer = await failure({ statement, maxRows: 1_000, readOnly: false });
    expect(answer).toMatchObject({ ...tooLarge, message: expect.stringContaining('more than 1000 rows') });
    expect((await database.db.query('select last_value::int as made from made')).rows).toEqual([{ made: 1_001 }]);
    expect(await rows({ statement: 'select * from generate_series(1, 1000)', maxRows: 1_000 })).toMatchObject({
      rowCount: 1_000,
    });
  });

  test('by bytes: one row that does not end', async () => {
    const endless = await startSilent(sendEndlessRow);
    const answer = await failure({ statement: 'select 1', maxBytes: 10_000 }, {}, { secrets: { db: endless.connection } });
    expect(answer).toMatchObject(tooLarge);
    await endless.stop();
  });

  test('by bytes: many rows, and one row', async () => {
    const many = { statement: "select repeat('x', 1000) from generate_series(1, 1000)", maxBytes: 10_000 };
    expect(await failure(many)).toMatchObject({ ...tooLarge, message: expect.stringContaining('more than 10000 bytes') });
    const one = { statement: "select repeat('x', 20000000)", maxBytes: 10_000 };
    expect(await failure(one)).toMatchObject(tooLarge);
  });

  test('and its changes are rolled back', async () => {
    const statement = 'delete from orders returning *';
    expect(await failure({ statement, readOnly: false, maxRows: 1 })).toMatchObject(tooLarge);
    expect(await count()).toEqual([{ n: 3 }]);
  });
});

describe('errors have the right cause', () => {
  test('an SQL error has its position', async () => {
    expect(await failure({ statement: 'select * frm orders' })).toMatchObject({
      cause: 'error',
      code: 'query_failed',
      details: { sqlState: '42601', position: expect.any(String) },
    });
    expect(await failure({ statement: 'select 1 / 0' })).toMatchObject({ code: 'query_failed', details: { sqlState: '22012' } });
  });

  test('an unreachable database', async () => {
    expect(await failure(byCustomer, { c: 'x' }, { secrets: { db: connectionTo(1) } })).toMatchObject({
      cause: 'provider_error',
      code: 'database_unreachable',
    });
  });

  test('a server without TLS gets no password', async () => {
    const { tls: _tls, ...secure } = z.looseObject({}).parse(JSON.parse(database.connection));
    const answer = await failure(byCustomer, { c: 'x' }, { secrets: { db: JSON.stringify(secure) } });
    expect(answer).toMatchObject({ code: 'database_unreachable', message: expect.stringContaining('SSL') });
  });

  test('a server that breaks the connection during a query', async () => {
    const breaking = await startSilent((socket) => socket.destroy());
    const answer = await failure(byCustomer, { c: 'x' }, { secrets: { db: breaking.connection } });
    expect(answer).toMatchObject({ cause: 'provider_error', code: 'database_unreachable' });
    await breaking.stop();
  });

  test('a server that hangs is abandoned at the time limit, and its statement is cancelled', async () => {
    const silent = await startSilent();
    const answer = await failure(byCustomer, { c: 'x' }, { secrets: { db: silent.connection }, timeoutMs: durationMs(300) });
    expect(answer).toMatchObject({ cause: 'timeout', code: 'query_timeout', details: { timeoutMs: 300 } });
    expect(silent.heard[0]?.[0]).toContain('BEGIN READ ONLY; SET LOCAL statement_timeout = 300;');
    expect(silent.heard[1]?.join()).toContain('pg_cancel_backend($1)');
    expect(silent.heard[1]?.join()).toContain('4711');
    await silent.stop();
  });

  test('an aborted attempt ends immediately, and the server cancels its statement', async () => {
    const stop = new AbortController();
    const silent = await startSilent();
    const asked = run(byCustomer, { c: 'x' }, { secrets: { db: silent.connection }, signal: stop.signal });
    await expect.poll(() => silent.heard[0]?.length).toBeGreaterThan(1);
    stop.abort(new Error('the run has ended'));
    await expect(asked).rejects.toThrow('the run has ended');
    expect(silent.heard[1]?.join()).toContain('pg_cancel_backend');
    await silent.stop();
  });

  test.each([
    ['no JSON at all: planted', 'connection_invalid'],
    ['{"host":"planted.example.com","password":"x"}', 'connection_invalid'],
    [undefined, 'secret_not_allowed'],
  ])('a secret that is not a connection: %s', async (text, code) => {
    const answer = await failure(byCustomer, { c: 'x' }, { secrets: text === undefined ? {} : { db: text } });
    expect(answer).toMatchObject({ code });
    expect(JSON.stringify(answer)).not.toContain('planted');
  });
});

test('a password is masked, also in results of the database', async () => {
  const outcome = JSON.stringify(await run({ statement: "select 'pg-' || 'planted-secret' as echoed" }));
  expect(outcome).toContain('[secret:db]');
  expect(outcome).not.toContain('pg-planted-secret');
  const failed = await run({ statement: "select cast('pg-planted' || '-secret' as int)" });
  expect(failed).toMatchObject({ kind: 'failed', failure: { message: expect.stringContaining('[secret:db]') } });
});
