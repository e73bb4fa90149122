/** `POST /v1/runs/batch`: each start has its own key and its own outcome, and their jobs share requests of the queue. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type Http, http, openGraph } from './http.ts';

interface Start {
  readonly workflowName: string;
  readonly idempotencyKey: string;
  readonly [field: string]: unknown;
}

const start = (key: string, more: object = {}): Start => ({
  workflowName: 'flow',
  input: { n: 1 },
  idempotencyKey: key,
  ...more,
});
const starts = (count: number): readonly Start[] => Array.from({ length: count }, (_, index) => start(`order-${index}`));

async function prepared() {
  const api = http();
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } });
  const sent: number[] = [];
  let refused = 0;
  for (const name of ['send', 'sendTogether'] as const) {
    const send = api.world.jobs[name].bind(api.world.jobs);
    api.world.jobs[name] = async (jobs, hops) => {
      sent.push(jobs.length);
      if (refused > 0) {
        refused -= 1;
        throw new Unavailable('the node queue');
      }
      await send(jobs, hops);
    };
  }
  const batch = (runs: readonly unknown[], by = key) => api.call('POST', '/v1/runs/batch', { key: by, body: { runs } });
  return { api, key, sent, batch, refuseSends: (count: number) => void (refused = count) };
}

const outcomesOf = (body: JsonObject): readonly JsonObject[] => body['data'] as readonly JsonObject[];
const runIdsOf = (body: JsonObject): readonly unknown[] =>
  outcomesOf(body).map(({ run }) => (run as JsonObject | undefined)?.['runId']);
const runsIn = async (api: Http, key: string): Promise<number> =>
  ((await api.call('GET', '/v1/runs', { key })).body['data'] as readonly unknown[]).length;

test('starts a run for each entry, and their jobs share a message for ten', async () => {
  const { api, key, batch, sent } = await prepared();
  const { status, body } = await batch(starts(25));
  expect(status).toBe(200);
  expect(new Set(runIdsOf(body)).size).toBe(25);
  expect(outcomesOf(body).map(({ idempotencyKey }) => idempotencyKey)).toEqual(starts(25).map((one) => one.idempotencyKey));
  expect(outcomesOf(body)[0]).toEqual({
    idempotencyKey: 'order-0',
    run: { runId: expect.stringMatching(/^wrun_/), status: 'pending', deploymentId: null },
  });
  expect(sent).toEqual([10, 10, 5]);
  expect(api.world.jobs.takeTogether().map(({ jobs }) => jobs.map(({ run }) => run.runId))).toEqual([
    runIdsOf(body).slice(0, 10),
    runIdsOf(body).slice(10, 20),
    runIdsOf(body).slice(20),
  ]);
  expect(await runsIn(api, key)).toBe(25);
});

test('a repeated batch starts nothing, and says so for each entry', async () => {
  const { api, key, batch, sent } = await prepared();
  const first = await batch(starts(3));
  sent.length = 0;
  const again = await batch([...starts(3), start('order-3')]);
  expect(runIdsOf(again.body).slice(0, 3)).toEqual(runIdsOf(first.body));
  expect(outcomesOf(again.body).map(({ run }) => (run as JsonObject)['isReplay'])).toEqual([true, true, true, undefined]);
  expect(await runsIn(api, key)).toBe(4);
});

test('a key starts the same run alone and in a batch', async () => {
  const { api, key, batch } = await prepared();
  const alone = await api.call('POST', '/v1/runs', {
    key,
    headers: { 'Idempotency-Key': 'order-0' },
    body: { workflowName: 'flow', input: { n: 1 } },
  });
  const { body } = await batch([start('order-0'), start('order-0', { input: { n: 2 } })]);
  expect(runIdsOf(body)[0]).toBe(alone.body['runId']);
  expect(outcomesOf(body)[1]).toMatchObject({ error: { code: 'idempotency_conflict' } });
});

test('a refused start does not stop the others, and its pointers begin at the body', async () => {
  const { api, key, batch } = await prepared();
  const args = [{ name: 'amount', type: 'number', required: true }];
  const strict = { name: 'strict', ...openGraph, options: { args } };
  expect((await api.call('POST', '/v1/workflows', { key, body: strict })).status).toBe(201);
  const { status, body } = await batch([
    start('a'),
    start('b', { workflowName: 'none' }),
    start('c', { deadlineAt: '2000-01-01T00:00:00.000Z' }),
    start('d', { workflowName: 'strict', input: {} }),
    start('e', { specVersion: 2 }),
    start('f', { version: 9 }),
    start('g'),
  ]);
  expect(status).toBe(200);
  expect(outcomesOf(body).map(({ error }) => (error as JsonObject | undefined)?.['code'])).toEqual([
    undefined,
    'no_active_deployment',
    'invalid_request',
    'input_invalid',
    'unsupported_spec_version',
    'not_found',
    undefined,
  ]);
  expect(outcomesOf(body)[2]).toMatchObject({ error: { errors: [{ pointer: '/runs/2/deadlineAt' }] } });
  expect(JSON.stringify(outcomesOf(body)[3])).toContain('"pointer":"/runs/3/');
  expect(await runsIn(api, key)).toBe(2);
});

describe('a body that is not valid starts nothing', () => {
  test.each([
    ['no runs', [], '/runs'],
    ['more than a hundred', starts(101), '/runs'],
    ['an entry without a key', [start('a'), { workflowName: 'flow' }], '/runs/1/idempotencyKey'],
    ['a key that is not ASCII', [start('ä')], '/runs/0/idempotencyKey'],
    ['a key of 256 characters', [start('x'.repeat(256))], '/runs/0/idempotencyKey'],
    ['a field that no start has', [start('a', { colour: 1 })], '/runs/0'],
    ['an entry that is no object', ['flow'], '/runs/0'],
  ])('%s', async (_name, runs, pointer) => {
    const { api, key, batch } = await prepared();
    const { status, body } = await batch(runs);
    expect([status, body['code']]).toEqual([400, 'invalid_request']);
    expect(JSON.stringify(body['errors'])).toContain(`"pointer":"${pointer}`);
    expect(await runsIn(api, key)).toBe(0);
  });
});

test('the aliases of a start apply to each entry', async () => {
  const { batch } = await prepared();
  const { input, ...rest } = start('a');
  const { body } = await batch([start('a'), { ...rest, inputParams: input }, { ...rest, inputValues: input }]);
  expect(new Set(runIdsOf(body)).size).toBe(1);
});

test('a queue that refuses the jobs does not fail the starts: the sweep sends them', async () => {
  const { api, key, batch, refuseSends } = await prepared();
  refuseSends(1);
  const { body } = await batch(starts(3));
  expect(runIdsOf(body)).not.toContain(undefined);
  expect(await runsIn(api, key)).toBe(3);
});

test('a store that is unavailable refuses its start alone, and the same batch succeeds later', async () => {
  const { api, key, batch } = await prepared();
  const reserve = api.world.reservations.reserve.bind(api.world.reservations);
  let reserved = 0;
  api.world.reservations.reserve = async (...reservation) => {
    reserved += 1;
    if (reserved === 2) throw new Unavailable('the control table');
    return reserve(...reservation);
  };
  const once = await batch(starts(2));
  expect(once.status).toBe(200);
  expect(outcomesOf(once.body)).toMatchObject([{ run: {} }, { error: { code: 'unavailable' } }]);
  const again = await batch(starts(2));
  expect(runIdsOf(again.body)).not.toContain(undefined);
  expect(await runsIn(api, key)).toBe(2);
});

test('needs trigger:write', async () => {
  const { api, batch } = await prepared();
  const { status, body } = await batch(starts(1), await api.key(['runs:read']));
  expect([status, body['required']]).toEqual([403, 'trigger:write']);
});

test('one audit entry names all runs', async () => {
  const { api, batch } = await prepared();
  const before = api.world.audit.entries.size;
  const { body } = await batch([...starts(3), start('x', { workflowName: 'none' })]);
  const entries = [...api.world.audit.entries.values()].slice(before);
  expect(entries).toEqual([
    expect.objectContaining({
      action: 'runs.create',
      resource: 'runs',
      result: 'success',
      metadata: expect.objectContaining({ runIds: runIdsOf(body).slice(0, 3), refused: 1 }),
    }),
  ]);
});
