/** External-worker runs over HTTP: the list, a run in each state, its events as pages and as a stream, and refused requests. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { errorCatalogue } from '../../lib/api/errors.ts';
import { routes } from '../../lib/api/routes.ts';
import { externalRunId } from '../../lib/engine/external/run.ts';
import { minutes, seconds } from '../../lib/engine/time.ts';
import { TestBackend, bad, thrice } from '../openworkflow/test-backend.ts';
import { http, instantGraph } from './http.ts';

/** A backend in the namespace of the key's project and environment. */
const opened = async (namespaceId = 'acme/test') => {
  const api = http();
  const key = await api.key(['admin']);
  const worker = new TestBackend(api.world.externalLogs, { clock: api.world.clock, namespaceId });
  const get = async (path: string, query: Readonly<Record<string, string>> = {}) =>
    (await api.call('GET', path, { key, query })).body;
  const listed = async (query: Readonly<Record<string, string>> = {}) => (await get('/v1/runs', query))['data'];
  return { api, key, worker, get, listed };
};

describe('a run of the library', () => {
  test('is pending, with the time from which a worker may claim it', async () => {
    const { worker, get, listed } = await opened();
    const run = await worker.create({ workflowName: 'any name', version: '7', input: { a: 1 }, availableAt: worker.at(60_000) });
    const facts = {
      runId: run.id,
      status: 'pending',
      workflowName: 'any name',
      workflowVersion: null,
      version: '7',
      isExternal: true,
    };
    const times = { createdAt: worker.at(0).toISOString(), availableAt: worker.at(60_000).toISOString() };
    expect(await listed()).toEqual([
      { ...facts, ...times, deploymentId: null, specVersion: 1, deadlineAt: worker.at(400 * 86_400_000).toISOString() },
    ]);
    expect(await get(`/v1/runs/${run.id}`)).toMatchObject({
      ...facts,
      ...times,
      input: { a: 1 },
      claims: 0,
      nodes: [],
      lastEventId: 1,
    });
    expect(await get(`/v1/runs/${run.id}`, { resolveData: 'none' })).not.toHaveProperty('input');
  });

  test('shows its worker, its lease, and what each open step waits for', async () => {
    const { worker, get } = await opened();
    const { parent, call, child } = await worker.family();
    await worker.step(parent.id, { stepName: 'work' });
    await worker.step(parent.id, {
      stepName: 'nap',
      kind: 'sleep',
      context: { kind: 'sleep', resumeAt: worker.at(5_000).toISOString() },
    });
    await worker.wait(parent.id, 'approve');
    expect(await get(`/v1/runs/${parent.id}`)).toMatchObject({
      status: 'running',
      worker: { id: 'w', leaseUntil: worker.at(60_000).toISOString() },
      claims: 1,
      nodes: [
        { nodeId: 'step', type: 'workflow', status: 'waiting', attempt: 1, childRunId: child.id },
        { nodeId: 'work', type: 'function', status: 'running', attempt: 1 },
        { nodeId: 'nap', type: 'sleep', status: 'waiting', wakeAt: worker.at(5_000).toISOString() },
        { nodeId: 'approve', type: 'signal-wait', status: 'waiting', waitingFor: { signal: 'approve', correlation: '' } },
      ],
    });
    expect(await get(`/v1/runs/${child.id}`)).toMatchObject({
      status: 'pending',
      calledBy: { runId: parent.id, nodeId: call.id },
    });
    await worker.backend.cancelWorkflowRun({ workflowRunId: parent.id });
    const cancelled = await get(`/v1/runs/${parent.id}`);
    expect(cancelled).toMatchObject({ status: 'cancelled', completedAt: worker.at(0).toISOString() });
    expect(cancelled).not.toHaveProperty('worker');
    expect(cancelled['nodes']).toEqual(expect.arrayContaining([expect.objectContaining({ nodeId: 'nap', status: 'cancelled' })]));
  });

  test('counts the attempts of a step, and its failure is the root cause', async () => {
    const { worker, get, listed } = await opened();
    const { id } = await worker.claimed();
    const error = {
      ...bad,
      stack: 'BadError: it is bad\n    at node:internal/x:1:1\n    at ship (file:///app/ship.ts?v=1:12:9)',
    };
    const failStep = async (): Promise<void> => {
      const step = await worker.step(id, { stepName: 'ship' });
      await worker.backend.failStepAttempt({ workflowRunId: id, workerId: 'w', stepAttemptId: step.id, error });
    };
    await failStep();
    await worker.fail(id, thrice);
    expect(await listed({ attention: 'retrying' })).toMatchObject([{ runId: id, status: 'pending', attention: 'retrying' }]);
    expect(await get(`/v1/runs/${id}`)).toMatchObject({ status: 'pending', nodes: [{ status: 'failed', attempt: 1 }] });
    worker.clock.advance(minutes(5));
    await worker.claim();
    expect(await listed({ attention: 'retrying' })).toEqual([]);
    await failStep();
    await worker.fail(id);
    const failure = { code: 'BadError', cause: 'error', message: 'it is bad' };
    expect(await listed({ status: 'failed' })).toMatchObject([{ runId: id, status: 'failed', error: failure }]);
    expect(await get(`/v1/runs/${id}`)).toMatchObject({
      status: 'failed',
      claims: 2,
      error: failure,
      rootCause: {
        nodeId: 'ship',
        attempt: 2,
        error: {
          ...failure,
          details: { at: '/app/ship.ts:12:9', stack: expect.stringContaining('at ship (/app/ship.ts:12:9)') },
        },
      },
      nodes: [{ nodeId: 'ship', status: 'failed', attempt: 2, error: failure }],
    });
  });

  test('that reached its deadline failed with the code of other runs', async () => {
    const { worker, get } = await opened();
    const run = await worker.create({ deadlineAt: worker.at(1_000) });
    worker.clock.advance(minutes(1));
    await worker.claim();
    expect(await get(`/v1/runs/${run.id}`)).toMatchObject({
      status: 'failed',
      error: { code: 'deadline_exceeded', cause: 'timeout' },
    });
    const { data } = await get(`/v1/runs/${run.id}/events`);
    expect(data).toMatchObject([{ type: 'input.set' }, { type: 'run.timed_out', eventId: 2 }]);
  });

  test('that another namespace has does not exist', async () => {
    for (const namespaceId of ['acme/other', 'acme', 'default']) {
      const { worker, api, key, listed } = await opened(namespaceId);
      const run = await worker.create();
      expect(await listed()).toEqual([]);
      for (const path of [`/v1/runs/${run.id}`, `/v1/runs/${run.id}/events`])
        expect((await api.call('GET', path, { key })).body).toMatchObject({ code: 'not_found' });
    }
  });
});

describe('the list', () => {
  test('has the runs of both, newest first, and its filters apply to both', async () => {
    const { worker, api, key, listed } = await opened();
    await api.call('POST', '/v1/workflows', { key, body: { ...instantGraph(), name: 'orders' } });
    const ids: string[] = [];
    for (const isExternal of [false, true, true, false]) {
      worker.clock.advance(minutes(1));
      if (isExternal) ids.push((await worker.create()).id);
      else {
        const headers = { 'Idempotency-Key': `${ids.length}` };
        const { body } = await api.call('POST', '/v1/runs', { key, headers, body: { workflowName: 'orders' } });
        ids.push(z.string().parse(body['runId']));
      }
    }
    const idsOf = async (query: Readonly<Record<string, string>>) =>
      z
        .array(z.looseObject({ runId: z.string() }))
        .parse(await listed(query))
        .map(({ runId }) => runId);
    const newest = ids.toReversed();
    expect(await idsOf({})).toEqual(newest);
    expect(await idsOf({ workflowName: 'orders' })).toEqual(newest);
    expect(await idsOf({ workflowName: 'other' })).toEqual([]);
    expect(await idsOf({ createdBefore: worker.at(0).toISOString() })).toEqual(newest.slice(1));
    expect(await idsOf({ createdAfter: worker.at(-60_000).toISOString() })).toEqual(newest.slice(0, 2));
    expect(await idsOf({ rerunOf: 'wrun_01M7XSDTEE14XW69VBQD8BT3DC' })).toEqual([]);
    const pages: unknown[] = [];
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const { body } = await api.call('GET', '/v1/runs', { key, query: { limit: '1', ...(cursor !== undefined && { cursor }) } });
      pages.push(
        ...z
          .array(z.looseObject({ runId: z.string() }))
          .parse(body['data'])
          .map(({ runId }) => runId),
      );
      cursor = z.string().nullable().parse(body['cursor']) ?? undefined;
    }
    expect(pages).toEqual(newest);
  });

  test('has child runs only where the request includes them', async () => {
    const { worker, listed } = await opened();
    const { parent, child } = await worker.family();
    expect(await listed()).toMatchObject([{ runId: parent.id }]);
    expect(await listed({ includeChildren: 'true' })).toEqual(
      expect.arrayContaining([expect.objectContaining({ runId: child.id })]),
    );
  });
});

describe('the events of a run', () => {
  test('are its facts in order with dense ids, without extensions of the lease', async () => {
    const { worker, get } = await opened();
    const { id } = await worker.claimed('w', { input: [1] });
    await worker.backend.extendWorkflowRunLease({ workflowRunId: id, workerId: 'w', leaseDurationMs: 90_000 });
    const step = await worker.step(id, { stepName: 'work' });
    await worker.backend.completeStepAttempt({ workflowRunId: id, workerId: 'w', stepAttemptId: step.id, output: 7 });
    await worker.wait(id, 'approve');
    await worker.park(id, 60_000);
    await worker.backend.sendSignal({ signal: 'approve', data: { by: 'Ada' }, idempotencyKey: null });
    await worker.claim();
    await worker.complete(id);
    const all = await get(`/v1/runs/${id}/events`);
    expect(all).toMatchObject({
      data: [
        { eventId: 1, type: 'input.set', runId: id, workflowId: 'orders', payload: { input: { value: [1] } } },
        { eventId: 2, type: 'run.started', payload: { workerId: 'w' } },
        { eventId: 3, type: 'node.started', payload: { nodeId: 'work', attempt: 1 } },
        { eventId: 4, type: 'node.completed', payload: { nodeId: 'work', attempt: 1, output: { value: 7 } } },
        { eventId: 5, type: 'signal.awaited', payload: { nodeId: 'approve', name: 'approve' } },
        { eventId: 6, type: 'run.status.changed', payload: { wakeAt: worker.at(60_000).toISOString() } },
        { eventId: 7, type: 'signal.received', payload: { nodeId: 'approve', name: 'approve' } },
        { eventId: 8, type: 'run.status.changed', payload: { status: 'running', workerId: 'w' } },
        { eventId: 9, type: 'run.completed', payload: { output: { value: { done: true } } } },
      ],
      cursor: '9',
      hasMore: false,
    });
    expect(await get(`/v1/runs/${id}/events`, { after: '7', limit: '1' })).toMatchObject({
      data: [{ eventId: 8 }],
      cursor: '8',
      hasMore: true,
    });
    expect(await get(`/v1/runs/${id}/events`, { after: '9' })).toMatchObject({ data: [], cursor: '9', hasMore: false });
  });

  test('are a stream that ends with the run, and a ticket opens it', async () => {
    const { worker, api, key } = await opened();
    const { id } = await worker.claimed();
    const path = `/v1/runs/${id}/events`;
    const headers = { accept: 'text/event-stream' };
    const { body } = await api.call('POST', `/v1/runs/${id}/tickets`, { key });
    const { stream } = await api.call('GET', path, { headers, query: { ticket: z.string().parse(body['ticket']) } });
    await worker.complete(id);
    let text = '';
    const ticking = setInterval(() => worker.clock.advance(seconds(1)), 1);
    for await (const chunk of stream ?? []) text += String(chunk);
    clearInterval(ticking);
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual(['input.set', 'run.started', 'run.completed']);
    expect((await api.call('GET', path, { key, headers, query: { after: '3' } })).status).toBe(204);
    const unknown = `/v1/runs/${externalRunId(randomUUID())}`;
    expect((await api.call('POST', `${unknown}/tickets`, { key })).status).toBe(404);
    expect((await api.call('GET', `${unknown}/events`, { key, headers })).status).toBe(404);
  });
});

describe('a request that does not apply', () => {
  const paths = routes.filter((route) => 'params' in route && 'runId' in route.params.shape && route.servedBy !== 'world');
  const applies = ['getRun', 'listRunEvents', 'createTicket'];

  test.each(paths.filter(({ operationId }) => !applies.includes(operationId)).map(({ method, path }) => [method, path] as const))(
    '%s %s is refused with external_run, also for an id that no run has',
    async (method, path) => {
      const { worker, api, key } = await opened();
      for (const id of [(await worker.create()).id, externalRunId(randomUUID())]) {
        const answer = await api.call(method, path.replace('{runId}', id), {
          key,
          headers: { 'Idempotency-Key': 'k' },
          body: {},
        });
        expect(answer).toMatchObject({
          status: 409,
          body: { code: 'external_run', recovery: errorCatalogue.external_run.recovery },
        });
      }
    },
  );

  test('resume is refused too', async () => {
    const { worker, api, key } = await opened();
    const body = { runId: (await worker.create()).id };
    expect(await api.call('POST', '/v1/runs/resume', { key, body })).toMatchObject({
      status: 409,
      body: { code: 'external_run' },
    });
  });
});
