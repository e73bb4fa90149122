/** The bundled worker queries a database over its real protocol, with a connection from the owner's file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { example } from '../docs/run-example.ts';
import { type Database, startDatabase } from '../nodes/data-query/database.ts';
import { type LocalStart, freshFolder, startLocal } from './local-start.ts';

let database: Database;
let local: LocalStart;
beforeAll(async () => {
  const directory = freshFolder();
  database = await startDatabase();
  await database.db.exec(`
    create table orders (id int, customer text, total numeric, ordered_at timestamptz);
    insert into orders values (1, 'ann', 10.5, '2026-01-01T09:00:00Z'), (3, 'ann', 5, '2026-01-03T09:00:00Z');
  `);
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ 'orders-db': database.connection }), { mode: 0o600 });
  local = await startLocal(directory);
});
afterAll(async () => {
  await local.end('SIGTERM');
  await database.stop();
});

const runShape = z.looseObject({ status: z.string(), output: z.unknown().optional(), error: z.unknown().optional() });

async function run(key: string, input: object, workflowName = 'recent-orders') {
  const started = await local.call('POST', '/v1/runs', { workflowName, input }, { 'idempotency-key': key });
  const { runId } = z.object({ runId: z.string() }).parse(started.body);
  for (;;) {
    const { body } = await local.call('GET', `/v1/runs/${runId}?resolveData=all`);
    const { status, output, error } = runShape.parse(body);
    if (['completed', 'failed'].includes(status)) {
      const events = JSON.stringify((await local.call('GET', `/v1/runs/${runId}/events`)).body);
      return { status, output, error, events };
    }
    await wait(100);
  }
}

test('the example runs as written, and an archived query is refused', async () => {
  const { workflow, query, input, expected } = example('recent-orders');
  expect((await local.call('POST', '/v1/queries', query)).status).toBe(201);
  expect((await local.call('POST', '/v1/workflows', workflow)).status).toBe(201);
  expect(await run('one', input)).toMatchObject({ status: 'completed', output: expected.output });
  expect(await run('two', { customer: "' or true --" })).toMatchObject({ status: 'completed', output: { count: 0 } });
  expect((await local.call('DELETE', '/v1/queries/recent-orders')).status).toBe(200);
  expect((await run('three', input)).events).toContain('the query recent-orders is archived');
});

test('a Data API query fails on a laptop, because no database has the name', async () => {
  const query = { name: 'in-aurora', kind: 'aurora', connection: 'orders', statement: 'select 1' };
  expect((await local.call('POST', '/v1/queries', query)).status).toBe(201);
  const nodes = [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'dataQuery', config: { query: 'in-aurora' } },
    { id: 'end', type: 'end' },
  ];
  const edges = [
    { id: 'a', source: 'start', target: 'ask' },
    { id: 'b', source: 'ask', target: 'end' },
  ];
  expect((await local.call('POST', '/v1/workflows', { name: 'ask-aurora', nodes, edges })).status).toBe(201);
  const { status, events } = await run('four', {}, 'ask-aurora');
  expect(status).toBe('failed');
  expect(events).toContain('"code":"connection_invalid"');
  expect(events).toContain('has no orders for this project and environment');
});
