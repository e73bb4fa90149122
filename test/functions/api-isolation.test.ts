/** No key of one project or environment reads or changes anything of another: what is theirs is as unknown. */
import { describe, expect, test } from 'vitest';
import { keyId as toKeyId } from '../../lib/engine/ids.ts';
import { routes } from '../../lib/api/routes.ts';
import { findOrder } from './queries.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { type Answered, type Http, http, instantGraph, openGraph, started, textIn } from './http.ts';

const others = [
  { project: 'rival', env: 'test' },
  { project: 'acme', env: 'live' },
];
/** A save makes a draft under a name that is free in the caller's own project: test/functions/api-drafts.test.ts. */
const named = routes.filter(({ path, operationId }) => path.includes('{') && operationId !== 'saveDraft');
const bodies: Readonly<Record<string, unknown>> = {
  publishVersion: instantGraph(),
  publishQueryVersion: { ...findOrder, name: undefined },
  sendRunSignal: { name: 'paid' },
  publishLens: { template: '[[text]]' },
  viewRun: { config: {} },
  deleteWorkflow: { confirm: 'flow' },
};
const bodyFor = (operationId: string): { readonly body?: unknown } =>
  Object.hasOwn(bodies, operationId) ? { body: bodies[operationId] } : {};
/** A route that wants an idempotency key asks for it before it looks for anything. */
const headersFor = (idempotencyKey: string): { readonly headers?: Readonly<Record<string, string>> } =>
  idempotencyKey === 'required' ? { headers: { 'Idempotency-Key': 'k' } } : {};

const ask = (
  api: Http,
  key: string,
  route: (typeof named)[number],
  ids: { runId: string; name: string; keyId: string; deploymentId: string; scheduleId: string },
): Promise<Answered> =>
  api.call(
    route.method,
    route.path.replace(/\{(runId|name|keyId|deploymentId|scheduleId)\}/, (_, id: keyof typeof ids) => ids[id]),
    {
      key,
      ...bodyFor(route.operationId),
      ...(route.operationId === 'getWorldStep' ? { query: { runId: ids.runId } } : {}),
      ...headersFor(route.idempotencyKey),
    },
  );

describe.each(others)('a key of $project/$env', (other) => {
  test.each(named)('$method $path of another is answered as if it did not exist', async (route) => {
    const api = http();
    const own = await api.key(['admin']);
    const keyId = (await api.key(['admin'])).split('_')[2] ?? '';
    const ids = {
      runId: await started(api, own, { graph: openGraph }),
      name: 'flow',
      keyId,
      deploymentId: 'dep_1',
      scheduleId: 'nightly',
    };
    const schedule = { scheduleId: 'nightly', workflowName: 'flow', rate: '1 day' };
    expect((await api.call('POST', '/v1/queries', { key: own, body: { ...findOrder, name: 'flow' } })).status).toBe(201);
    expect((await api.call('POST', '/v1/schedules', { key: own, body: schedule })).status).toBe(201);
    const { manifest } = await packedDeployment('dep_1');
    expect((await api.call('POST', '/v1/lenses', { key: own, body: { name: 'flow', template: '[[text]]' } })).status).toBe(201);
    expect((await api.call('POST', '/v1/deployments', { key: own, body: manifest })).status).toBe(201);
    const draft = { definition: {}, revision: 0, basedOn: 1 };
    expect((await api.call('POST', '/v1/workflows/flow/draft', { key: own, body: draft })).status).toBe(200);
    const foreign = await api.key(['admin'], other);
    const theirs = await ask(api, foreign, route, ids);
    const unknown = await ask(api, foreign, route, {
      runId: 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV',
      name: 'nothing',
      keyId: 'unknownkey',
      deploymentId: 'dep_9',
      scheduleId: 'nothing',
    });
    const without = ({ correlationId: _correlationId, ...body }: Answered['body']) => body;
    expect(theirs.status).toBe(404);
    expect(without(theirs.body)).toEqual(without(unknown.body));
    // … and nothing happened to it.
    const { body } = await api.call('GET', `/v1/runs/${ids.runId}`, { key: own });
    expect(body).toMatchObject({ status: 'pending' });
    expect((await api.call('GET', '/v1/workflows/flow', { key: own })).body).toMatchObject({ latestVersion: 1 });
    expect((await api.call('GET', '/v1/workflows/flow/draft', { key: own })).body).toMatchObject({ revision: 1 });
    expect((await api.call('GET', '/v1/queries/flow', { key: own })).body).toMatchObject({ latestVersion: 1 });
    expect((await api.call('GET', '/v1/queries/flow', { key: own })).body).not.toHaveProperty('archivedAt');
    const lens = (await api.call('GET', '/v1/lenses/flow', { key: own })).body;
    expect([lens['latestVersion'], lens['archivedAt']]).toEqual([1, undefined]);
    expect((await api.call('GET', '/v1/deployments/dep_1', { key: own })).body).toMatchObject({ status: 'created' });
    const standing = await api.call('GET', '/v1/schedules/nightly', { key: own });
    expect(standing.body).toMatchObject({ paused: false, updatedAt: standing.body['createdAt'] });
    const key = await api.world.keys.key(toKeyId(keyId));
    expect([key?.revokedAt, key?.replacedBy, key?.expiresAt]).toEqual([undefined, undefined, undefined]);
  });

  test('lists show nothing of another project, and its cursors are invalid', async () => {
    const api = http();
    const own = await api.key(['admin']);
    for (const name of ['a', 'b', 'c']) {
      await started(api, own, { name });
      await api.call('POST', '/v1/queries', { key: own, body: { ...findOrder, name } });
      await api.call('POST', '/v1/lenses', { key: own, body: { name, template: '[[text]]' } });
    }
    const foreign = await api.key(['admin'], other);
    for (const scheduleId of ['a', 'b']) {
      await api.call('POST', '/v1/schedules', { key: own, body: { scheduleId, workflowName: 'a', rate: '1 day' } });
    }
    for (const path of ['/v1/runs', '/v1/workflows', '/v1/queries', '/v1/lenses', '/v1/schedules']) {
      expect((await api.call('GET', path, { key: foreign })).body).toMatchObject({ data: [], hasMore: false, cursor: null });
      const cursor = textIn(await api.call('GET', path, { key: own, query: { limit: '1' } }), 'cursor');
      const stolen = await api.call('GET', path, { key: foreign, query: { limit: '1', cursor } });
      expect([stolen.status, stolen.body['code']]).toEqual([400, 'cursor_invalid']);
    }
  });

  test('an idempotency key and a run id of another are free', async () => {
    const api = http();
    const own = await api.key(['admin']);
    const foreign = await api.key(['admin'], other);
    const runIds = [await started(api, own), await started(api, foreign)];
    expect(new Set(runIds).size).toBe(2);
  });
});
