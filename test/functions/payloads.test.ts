/** Callers without `payloads:read` see runs, and no data of them: each route, the stream, and sockets. */
import { describe, expect, test } from 'vitest';
import type { Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { attempt, commitNo, environment, keyId, nodeId, projectId, runId as toRunId, topLevel } from '../../lib/engine/ids.ts';
import { eventIdAfter } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { durationMs, seconds } from '../../lib/engine/time.ts';
import type { KeyScope } from '../../lib/ports/control.ts';
import { streamIn } from './event-stream.ts';
import { type CallOptions, type Http, http, instantGraph, openGraph, started, textIn } from './http.ts';

const planted = 'Ada Lovelace, 12 St James Square';
const scope = { projectId: projectId('acme'), environment: environment('test') };
const blind: readonly KeyScope[] = ['runs:read', 'runs:write', 'workflows:read', 'workflows:write'];

/** What an attempt leaves in the log of a run that waits for a worker. */
async function append({ world }: Http, id: string, events: readonly RunEvent[]): Promise<void> {
  const run = { ...scope, runId: toRunId(id) };
  const head = await world.log.head(run);
  if (head === undefined) throw new Error('no such run');
  const shared = { at: world.clock.now(), by: 'test', nonce: world.ids.nonce() };
  await world.log.put(run, { ...shared, number: commitNo(2), firstEventId: eventIdAfter(head.commit), events }, head.expiresAt);
}

const failure = { cause: 'error', code: 'http_status', message: `refused ${planted}`, details: { body: planted } } as const;
const attempts = ({ world }: Http): readonly RunEvent[] => {
  const node = { nodeId: nodeId('work'), iteration: topLevel, attempt: attempt(1) };
  const now = world.clock.now();
  const span = { startedAt: now, endedAt: now, printed: [planted], via: 'queue' } as const;
  return [
    { type: 'NODE_RETRIED', ...node, failure, delayMs: durationMs(1), retryAt: now, ...span },
    { type: 'CONTRACT_VIOLATED', ...node, attempt: attempt(2), phase: 'input', errors: [{ message: planted }] },
    {
      type: 'NODE_FAILED',
      ...node,
      attempt: attempt(2),
      failure: { ...failure, cause: 'contract_violated' },
      startedAt: now,
      endedAt: now,
    },
    { type: 'RUN_FAILED', error: failure },
  ];
};

const waits = {
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'signal', config: { name: 'approved', correlation: '{{ctx.input.who}}' } },
  ],
  edges: [{ source: 'start', target: 'ask' }],
};

interface Made {
  readonly api: Http;
  readonly admin: string;
  readonly failed: string;
  readonly waiting: string;
  readonly tested: string;
}

async function made(): Promise<Made> {
  const api = http();
  const admin = await api.key(['admin']);
  const input = { who: planted };
  const failed = await started(api, admin, { graph: openGraph, input });
  await append(api, failed, attempts(api));
  const waiting = await started(api, admin, { name: 'waits', graph: waits, input });
  const test = { ...openGraph, input, pinned: { work: { output: planted } } };
  const tested = textIn(await api.call('POST', '/v1/workflows/test', { key: admin, body: test }), 'runId');
  const definition = { name: 'flow', ...openGraph, options: {} };
  const draft = { definition, revision: 0, basedOn: 1, pinned: { work: { output: planted } } };
  await api.call('POST', '/v1/workflows/flow/draft', { key: admin, body: draft });
  const schedule = { scheduleId: 'nightly', workflowName: 'flow', cron: '0 3 * * *', input };
  await api.call('POST', '/v1/schedules', { key: admin, body: schedule });
  await api.call('POST', '/v1/workflows', { key: admin, body: { ...instantGraph(), name: 'instant' } });
  return { api, admin, failed, waiting, tested };
}

type Call = readonly [method: string, path: string, options?: CallOptions];

/** For each route that declares data, requests whose responses have some. */
const calls: Readonly<Record<string, (runs: Made) => readonly Call[]>> = {
  startRun: () => [
    [
      'POST',
      '/v1/runs',
      {
        query: { wait: '5' },
        headers: { 'Idempotency-Key': 'waits' },
        body: { workflowName: 'instant', input: { who: planted } },
      },
    ],
  ],
  listRuns: () => [['GET', '/v1/runs', { query: { includeWaits: 'true' } }]],
  getRun: ({ failed, waiting }) => [
    ['GET', `/v1/runs/${failed}`],
    ['GET', `/v1/runs/${waiting}`],
  ],
  getRunDefinition: ({ tested }) => [['GET', `/v1/runs/${tested}/definition`]],
  getRunNode: ({ failed, waiting }) => [
    ['GET', `/v1/runs/${failed}/nodes/work`],
    ['GET', `/v1/runs/${waiting}/nodes/ask`],
  ],
  listRunEvents: ({ failed, waiting }) => [
    ['GET', `/v1/runs/${failed}/events`],
    ['GET', `/v1/runs/${waiting}/events`],
  ],
  listRunTags: ({ failed }) => [['GET', `/v1/runs/${failed}/tags`]],
  getDraft: () => [['GET', '/v1/workflows/flow/draft']],
  saveDraft: () => [
    [
      'POST',
      '/v1/workflows/flow/draft',
      { body: { definition: { name: 'flow' }, revision: 1, basedOn: 1, pinned: { more: { output: planted } } } },
    ],
  ],
  createSchedule: () => [
    ['POST', '/v1/schedules', { body: { scheduleId: 'hourly', workflowName: 'flow', rate: '1 hour', input: planted } }],
  ],
  getSchedule: () => [['GET', '/v1/schedules/nightly']],
  updateSchedule: () => [['POST', '/v1/schedules/nightly', { body: { cron: '0 4 * * *' } }]],
  pauseSchedule: () => [['POST', '/v1/schedules/nightly/pause']],
  resumeSchedule: () => [['POST', '/v1/schedules/nightly/resume']],
};

const all: readonly Route[] = routes;
const declaring = all.filter(({ payloads }) => payloads !== undefined).map(({ operationId }) => operationId);

test('every route that declares data is called here', () => {
  expect(Object.keys(calls).toSorted()).toEqual(declaring.toSorted());
});

describe.each(declaring)('%s', (operationId) => {
  const answers = async (scopes: readonly KeyScope[]) => {
    const runs = await made();
    const extra: readonly KeyScope[] = operationId === 'createSchedule' ? ['trigger:write'] : [];
    const key = await runs.api.key([...scopes, ...extra, 'trigger:write']);
    const requests = calls[operationId]?.(runs) ?? [];
    return Promise.all(requests.map(([method, path, options]) => runs.api.call(method, path, { ...options, key })));
  };

  test('without payloads:read it has no data, and says so', async () => {
    for (const { status, body } of await answers(blind)) {
      expect([status, JSON.stringify(body).includes(planted)]).toEqual([expect.toBeOneOf([200, 201]), false]);
      expect(JSON.stringify(body)).not.toContain('Lovelace');
      expect(body['payloadsHidden']).toBe(true);
    }
  });

  test('with payloads:read it has the data', async () => {
    const responses = await answers([...blind, 'payloads:read']);
    for (const { body } of responses) expect(body['payloadsHidden']).toBeUndefined();
    expect(responses.map(({ body }) => JSON.stringify(body)).join('')).toContain(planted);
  });
});

test('what is left is what a reader needs: states, times, names, and the codes of errors', async () => {
  const { api, failed } = await made();
  const key = await api.key(['runs:read']);
  const error = { code: 'http_status', message: 'hidden: payloads:read is required' };
  const run = await api.call('GET', `/v1/runs/${failed}`, { key });
  expect(run.body).toMatchObject({
    runId: failed,
    status: 'failed',
    workflowName: 'flow',
    createdAt: expect.any(String),
    error,
    nodes: expect.arrayContaining([expect.objectContaining({ nodeId: 'work', status: 'failed', attempt: 2 })]),
  });
  const events = await api.call('GET', `/v1/runs/${failed}/events`, { key });
  expect(events.body['data']).toContainEqual(
    expect.objectContaining({
      type: 'node.retried',
      payload: expect.objectContaining({ attempt: 1, failure: { ...error, cause: 'error' } }),
    }),
  );
  expect((await api.call('GET', `/v1/runs/${failed}/timeline`, { key })).status).toBe(200);
});

test('templates against the data of a run need payloads:read', async () => {
  const { api, failed } = await made();
  const body = { config: { who: '{{ctx.input.who}}' } };
  const refused = await api.call('POST', `/v1/runs/${failed}/view`, { key: await api.key(blind), body });
  expect([refused.status, refused.body['required']]).toEqual([403, 'payloads:read']);
  const allowed = await api.call('POST', `/v1/runs/${failed}/view`, { key: await api.key(['payloads:read']), body });
  expect(allowed.body).toMatchObject({ view: { who: planted } });
});

test('a draft that is saved without payloads:read keeps the pins that its author does not see', async () => {
  const { api, admin } = await made();
  const body = { definition: { name: 'flow', nodes: [] }, revision: 1, basedOn: 1 };
  const saved = await api.call('POST', '/v1/workflows/flow/draft', { key: await api.key(blind), body });
  expect([saved.status, saved.body['pinned']]).toEqual([200, undefined]);
  const { body: stored } = await api.call('GET', '/v1/workflows/flow/draft', { key: admin });
  expect(stored).toMatchObject({ revision: 2, pinned: { work: { output: planted } }, definition: { nodes: [] } });
});

describe('a stream', () => {
  const sse = { Accept: 'text/event-stream' };
  const open = async (runs: Made, runId: string, scopes: readonly KeyScope[]) => {
    const key = await runs.api.key(scopes);
    const answer = await runs.api.call('GET', `/v1/runs/${runId}/events`, { key, headers: sse });
    return { key, stream: streamIn(runs.api.world, answer) };
  };

  test('without payloads:read has each event, without data, deltas or printed lines', async () => {
    const runs = await made();
    const hidden = await (await open(runs, runs.failed, blind)).stream.rest();
    const shown = await (await open(runs, runs.failed, ['runs:read', 'payloads:read'])).stream.rest();
    const ids = (frames: typeof shown) => frames.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(JSON.stringify(shown)).toContain(planted);
    expect(shown.map(({ event }) => event)).toContain('node.log');
    expect(JSON.stringify(hidden)).not.toContain('Lovelace');
    expect(ids(hidden)).toEqual(ids(shown));
    expect(hidden.filter(({ event }) => event === 'node.log')).toEqual([]);
    for (const { id, data } of hidden) if (id !== undefined) expect(data?.['payloadsHidden']).toBe(true);
  });

  test('ends when its key loses payloads:read, and not because it never had it', async () => {
    const runs = await made();
    const keeps = await open(runs, runs.waiting, ['runs:read']);
    const loses = await open(runs, runs.waiting, ['runs:read', 'payloads:read']);
    await loses.stream.next();
    const since = runs.api.world.clock.now();
    await runs.api.world.keys.updateKey(scope, keyId(loses.key.split('_')[2] ?? ''), { scopes: ['runs:read'] });
    await loses.stream.rest();
    expect(runs.api.world.clock.now() - since).toBeLessThanOrEqual(seconds(30));
    await keeps.stream.next();
    const blindSince = runs.api.world.clock.now();
    await keeps.stream.rest();
    expect(runs.api.world.clock.now() - blindSince).toBeGreaterThan(seconds(60));
  });

  test('of a ticket shows what the key of the ticket may see', async () => {
    const { api, failed } = await made();
    const opened = async (scopes: readonly KeyScope[]) => {
      const issued = await api.call('POST', `/v1/runs/${failed}/tickets`, { key: await api.key(scopes) });
      const query = { ticket: textIn(issued, 'ticket') };
      return JSON.stringify(
        await streamIn(api.world, await api.call('GET', `/v1/runs/${failed}/events`, { query, headers: sse })).rest(),
      );
    };
    expect(await opened(['runs:read'])).not.toContain('Lovelace');
    expect(await opened(['runs:read', 'payloads:read'])).toContain('Lovelace');
  });
});
