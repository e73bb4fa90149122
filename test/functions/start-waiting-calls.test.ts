/** The calls of `POST /v1/runs` that wait for each other (docs/BENCH.md), compared with `bench/golden/start-waiting-calls.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chain } from '../../bench/workflows.ts';
import { compile } from '../../lib/engine/graph/compile.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import { evaluatePure, termsOf } from '../../lib/nodes/catalogue.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { handleCalledJob } from '../../lib/service/execution/handle-job.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import type { JobHandler } from '../../lib/service/worker.ts';
import { finished } from '../service/test-env.ts';
import { shippedCode } from './code-api.ts';
import { http, openGraph } from './http.ts';
import { type CountedHttp, countedHttp } from './waiting-calls.ts';

function isGolden(name: string, counts: unknown): void {
  const file = new URL(`../../bench/golden/${name}.json`, import.meta.url);
  if (process.env['STEPWELL_WRITE_GOLDEN'] === '1') writeFileSync(file, `${JSON.stringify(counts, null, 2)}\n`);
  expect(counts).toEqual(JSON.parse(readFileSync(file, 'utf8')));
}

const start = ({ api, waitingCalls }: CountedHttp, key: string, name: string, workflowName = 'flow') =>
  waitingCalls(() =>
    api.call('POST', '/v1/runs', { key, headers: { 'Idempotency-Key': name }, body: { workflowName, input: {} } }),
  );

test('the calls of a start that wait for each other are the golden ones: at most three in a warm function', async () => {
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
  isGolden('start-waiting-calls', counts);
  expect(warm.rounds.length).toBeLessThanOrEqual(3);
});

test('the calls of a start that waits for a chain of scripts, with those of the worker that it calls, are the golden ones', async () => {
  const counted = countedHttp((world) => {
    // The default of the setting.
    world.notices.runEvents = 'failed';
    const worker: JobHandler = {
      deps: { ...world, settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false } },
      plans: new Plans({ compile: (version) => compile(version, termsOf), evaluate: evaluatePure }),
      kinds: runKinds,
      executions: runExecutions,
      by: 'worker',
      foldCache: new FoldCache(),
      runAttempt: async () => ({ outcome: finished('1'), printed: [] }),
    };
    const mustEndAt = after(world.clock.now(), minutes(15));
    return {
      call: async (call) => {
        const end = await handleCalledJob(worker, call, { isRedelivered: false, mustEndAt });
        return { kind: 'ended', ...(end && { end }) };
      },
    };
  });
  const key = await counted.api.key(['admin']);
  await counted.api.call('POST', '/v1/workflows', { key, body: { ...chain(10), name: 'flow' } });
  const ask = (name: string) =>
    counted.waitingCalls(() =>
      counted.api.call('POST', '/v1/runs', {
        key,
        headers: { 'Idempotency-Key': name },
        body: { workflowName: 'flow' },
        query: { wait: '20' },
      }),
    );
  await ask('cold');
  const warm = await ask('warm');
  expect(warm.answer).toMatchObject({ status: 200, body: { status: 'completed' } });
  isGolden('answered-waiting-calls', warm.rounds);
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
