/** `POST /v1/runs?wait=`: what it answers, and what it refuses. */
import { describe, expect, test } from 'vitest';
import { inline } from '../../lib/engine/json.ts';
import type { JobCalls } from '../../lib/ports/jobs.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { type CallOptions, type Http, http, instantGraph, openGraph, textIn } from './http.ts';

const withCalls = (jobCalls: JobCalls): Http => http(undefined, undefined, undefined, undefined, undefined, undefined, jobCalls);

async function started(api: Http, graph: object, query: CallOptions['query']) {
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...graph } });
  const options = {
    key,
    headers: { 'Idempotency-Key': 'one' },
    body: { workflowName: 'flow', input: { n: 1 } },
    query: query ?? {},
  };
  return api.call('POST', '/v1/runs', options);
}

describe('a start that waits', () => {
  test('answers 200 with the output of a run that has ended', async () => {
    const api = http();
    const answer = await started(api, instantGraph(), { wait: '5' });
    const runId = textIn(answer, 'runId');
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'completed', deploymentId: null, output: { given: { n: 1 } } },
      headers: { location: `/v1/runs/${runId}` },
    });
    expect([...api.world.audit.entries.values()].at(-1)).toMatchObject({
      action: 'runs.create',
      result: 'success',
      resource: `run/${runId}`,
      metadata: { runId, status: 202, deduped: false },
    });
    expect([...api.world.audit.entries.values()].filter(({ action }) => action === 'runs.create')).toHaveLength(1);
  });

  test('is in the audit trail while it waits', async () => {
    let recorded: readonly unknown[] = [];
    const api = withCalls({
      call: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        recorded = [...api.world.audit.entries.values()].filter(({ action }) => action === 'runs.create');
        return {
          kind: 'ended',
          end: { status: 'completed', endedAt: api.world.clock.now(), output: inline({ of: 'the worker' }) },
        };
      },
    });
    const answer = await started(api, openGraph, { wait: '5' });
    expect(answer).toMatchObject({ status: 200, body: { status: 'completed', output: { of: 'the worker' } } });
    expect(recorded).toMatchObject([
      { result: 'success', resource: `run/${textIn(answer, 'runId')}`, metadata: { status: 202 } },
    ]);
  });

  test('that cannot be recorded is unavailable, as every start', async () => {
    const api = withCalls({ call: async () => ({ kind: 'unknown' }) });
    const key = await api.key(['admin']);
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
    api.world.audit.record = () => Promise.reject(new Unavailable('the audit trail'));
    const options = { key, headers: { 'Idempotency-Key': 'one' }, body: { workflowName: 'flow' }, query: { wait: '5' } };
    expect(await api.call('POST', '/v1/runs', options)).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  });

  test('answers 200 with the failure of a run that has failed', async () => {
    const answer = await started(http(), instantGraph('error'), { wait: '25' });
    expect(answer).toMatchObject({ status: 200, body: { status: 'failed', error: { code: expect.any(String) } } });
  });

  test('repeated, answers the same and says so', async () => {
    const api = http();
    const first = await started(api, instantGraph(), { wait: '5' });
    const again = await started(api, instantGraph(), { wait: '5' });
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'idempotency-replayed': 'true' } });
  });

  test('answers 202 with the run when its time is over', async () => {
    const api = withCalls({
      call: async () => {
        setImmediate(() => {
          const next = api.world.clock.nextWakeAt();
          if (next !== undefined) api.world.clock.set(next);
        });
        return new Promise(() => {});
      },
    });
    const answer = await started(api, openGraph, { wait: '1' });
    expect(answer).toMatchObject({ status: 202, body: { status: 'running', deploymentId: null } });
  });

  test.each(['0', '26', '-1', '1.5', 'soon', ''])(
    'is refused for wait=%s, with the place of the error, and starts nothing',
    async (wait) => {
      const api = http();
      const answer = await started(api, instantGraph(), { wait });
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer: 'query/wait' }] } });
      expect((await api.call('GET', '/v1/runs', { key: await api.key(['admin']) })).body).toMatchObject({ data: [] });
    },
  );
});
