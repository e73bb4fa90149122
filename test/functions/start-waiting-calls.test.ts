/** The calls of `POST /v1/runs` that wait for each other (docs/BENCH.md), compared with `bench/golden/start-waiting-calls.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { shippedCode } from './code-api.ts';
import { http, openGraph } from './http.ts';
import { type CountedHttp, countedHttp } from './waiting-calls.ts';

const golden = new URL('../../bench/golden/start-waiting-calls.json', import.meta.url);

const start = ({ api, waitingCalls }: CountedHttp, key: string, name: string, workflowName = 'flow') =>
  waitingCalls(() =>
    api.call('POST', '/v1/runs', { key, headers: { 'Idempotency-Key': name }, body: { workflowName, input: {} } }),
  );

test('the calls of a start that wait for each other are the golden ones: at most four in a warm function', async () => {
  const counted = countedHttp();
  const key = await counted.api.key(['trigger:write', 'workflows:write']);
  await counted.api.call('POST', '/v1/workflows', {
    key: await counted.api.key(['admin']),
    body: { name: 'flow', ...openGraph },
  });
  const cold = await start(counted, key, 'first');
  const warm = await start(counted, key, 'second');
  const repeated = await start(counted, key, 'second');
  await shippedCode(undefined, counted.api);
  await start(counted, key, 'deployed, first', 'order');
  const deployed = await start(counted, key, 'deployed, second', 'order');
  expect([cold, warm, repeated, deployed].map(({ answer }) => answer.status)).toEqual([202, 202, 202, 202]);
  const counts = { cold: cold.rounds, warm: warm.rounds, repeated: repeated.rounds, deployed: deployed.rounds };
  if (process.env['STEPWELL_WRITE_GOLDEN'] === '1') writeFileSync(golden, `${JSON.stringify(counts, null, 2)}\n`);
  expect(counts).toEqual(JSON.parse(readFileSync(golden, 'utf8')));
  expect(warm.rounds.length).toBeLessThanOrEqual(4);
});

test('a repeated start is answered while the store of workflows is unavailable', async () => {
  let isDown = false;
  const api = http(({ workflows }) => {
    const summary = workflows.summary.bind(workflows);
    workflows.summary = (...given) => (isDown ? Promise.reject(new Unavailable('the table')) : summary(...given));
    return {};
  });
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } });
  const ask = () =>
    api.call('POST', '/v1/runs', { key, headers: { 'Idempotency-Key': 'one' }, body: { workflowName: 'flow', input: {} } });
  const first = await ask();
  isDown = true;
  expect(await ask()).toMatchObject({ status: 202, body: first.body, headers: { 'idempotency-replayed': 'true' } });
});

test('a start whose first jobs fail to be sent is answered with the error, and its audit entry says that the run exists', async () => {
  const api = http(({ jobs }) => {
    jobs.send = () => Promise.reject(new Error('not serializable'));
    return {};
  });
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } });
  const options = { key, headers: { 'Idempotency-Key': 'one' }, body: { workflowName: 'flow', input: {} } };
  expect((await api.call('POST', '/v1/runs', options)).status).toBe(500);
  expect([...api.world.audit.entries.values()].at(-1)).toMatchObject({ action: 'runs.create', result: 'success' });
});
