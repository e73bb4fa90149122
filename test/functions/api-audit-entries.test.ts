/** The trail, from the table of routes: whoever changes something, or may not, leaves one entry with all of its facts. */
import { findOrder } from './queries.ts';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';
import { minutes } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { maxFailuresRecorded } from '../../lib/service/access/failure-budget.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type CallOptions, type Http, formOf, http, openGraph, started, textIn } from './http.ts';

const all: readonly Route[] = routes;
/** Those that only a session may call are in sessions.test.ts and provider-sign-in.test.ts. */
const mutating = all.filter(
  ({ action, scope, credential }) => action !== undefined && scope !== null && credential !== 'session',
);
const reading = all.filter(({ action, scope, credential }) => action === undefined && scope !== null && credential !== 'session');
const entriesOf = (api: Http) => [...api.world.audit.entries.values()];
const unknown = {
  runId: 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  name: 'nothing',
  keyId: 'unknownkey',
  deploymentId: 'unknown',
  scheduleId: 'unknown',
};
const filled = (path: string, values: Readonly<Record<string, string>> = unknown): string =>
  path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? 'x');
const traceId = '0af7651916cd43dd8448eb211c80319c';
const headers = {
  'X-Workflow-Correlation-Id': 'corr-1',
  Traceparent: `00-${traceId}-b7ad6b7169203331-01`,
  'Idempotency-Key': 'a secret of the caller',
  // Anybody may write this one.
  'X-Forwarded-For': '203.0.113.9',
};
const common = (route: Route, key: string) => ({
  keyId: key.split('_')[2],
  scope: { projectId: 'acme', environment: 'test' },
  action: route.action,
  ip: '192.0.2.1',
  userAgent: 'test',
  metadata: {
    lane: route.scope === 'world:proxy' ? 'world_proxy' : 'public',
    correlationId: 'corr-1',
    traceId,
    idempotencyKeyHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    deduped: false,
    status: expect.any(Number),
  },
});

describe.each(mutating.map((route) => ({ ...route, route })))('$method $path', ({ route, method, path }) => {
  test('with a missing resource or an invalid request leaves one entry', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const { status, body } = await api.call(method, filled(path), { key, headers, text: '{"nothing":1}' });
    // A route without parameters and a body has nothing to refuse.
    const isRefused = route.params !== undefined || route.body !== undefined;
    expect(status >= 400, JSON.stringify(body)).toBe(isRefused);
    const [entry, ...more] = entriesOf(api);
    expect(more).toEqual([]);
    const result = isRefused ? 'failure' : 'success';
    expect(entry).toMatchObject({ ...common(route, key), result, resource: expect.stringMatching(/./) });
    expect(entry?.metadata).toMatchObject({ status, ...(isRefused && { code: body['code'] }) });
    expect(JSON.stringify(entry)).not.toMatch(/a secret of the caller|203\.0\.113\.9/);
  });

  test('with a key without the scope leaves one entry', async () => {
    const api = http();
    const key = await api.key([route.scope === 'runs:read' ? 'runs:write' : 'runs:read']);
    expect((await api.call(method, filled(path), { key, headers })).status).toBe(403);
    expect(entriesOf(api)).toMatchObject([
      { ...common(route, key), result: 'failure', metadata: { status: 403, code: 'missing_scope' } },
    ]);
    expect(entriesOf(api)).toHaveLength(1);
  });

  test('over its rate limit leaves no entry', async () => {
    const api = http();
    const key = await api.key(['runs:read'], { rateLimitPerMinute: 1 });
    await api.call('GET', '/v1/runs', { key });
    expect((await api.call(method, filled(path), { key, headers })).status).toBe(429);
    expect(entriesOf(api)).toEqual([]);
  });
});

test.each(reading.map((route) => ({ ...route, id: `${route.method} ${route.path}` })))(
  '$id leaves no entry',
  async ({ method, path }) => {
    const api = http();
    await api.call(method, filled(path), { key: await api.key(['admin']), headers, text: '{}' });
    expect(entriesOf(api)).toEqual([]);
  },
);

describe('what was done', () => {
  const formFor = async (key: string, id: string): Promise<CallOptions> => {
    const { manifest, archive } = await packedDeployment(id);
    return formOf(key, { manifest: JSON.stringify(manifest), artifact: archive });
  };
  const shipped = async (api: Http, key: string, ...ids: readonly string[]): Promise<void> => {
    for (const id of ids) await api.call('POST', '/v1/deployments', await formFor(key, id));
  };
  const activated = async (api: Http, key: string, id: string): Promise<void> =>
    void (await api.call('POST', `/v1/deployments/${id}/activate`, { key }));
  type Ask = (api: Http, key: string, runId: string) => Promise<readonly [method: string, path: string, options?: CallOptions]>;

  const nightly = { scheduleId: 'nightly', workflowName: 'flow', rate: '1 day' };
  /** One good request for each action of the table: a new one is asked for here, or this stops. */
  const good: Readonly<Record<string, Ask>> = {
    'workflows.create': async () => ['POST', '/v1/workflows', { body: { name: 'new', ...openGraph } }],
    'workflows.publish': async () => ['POST', '/v1/workflows/flow/versions', { body: openGraph }],
    'workflows.archive': async () => ['DELETE', '/v1/workflows/flow'],
    'workflows.delete': async () => ['POST', '/v1/workflows/flow/delete', { body: { confirm: 'flow' } }],
    'workflows.draft.delete': async (api, key) => {
      await api.call('POST', '/v1/workflows/flow/draft', { key, body: { definition: {}, revision: 0, basedOn: 1 } });
      return ['DELETE', '/v1/workflows/flow/draft'];
    },
    'queries.create': async () => ['POST', '/v1/queries', { body: findOrder }],
    'queries.publish': async (api, key) => {
      await api.call('POST', '/v1/queries', { key, body: findOrder });
      return ['POST', '/v1/queries/find-order/versions', { body: findOrder }];
    },
    'queries.archive': async (api, key) => {
      await api.call('POST', '/v1/queries', { key, body: findOrder });
      return ['DELETE', '/v1/queries/find-order'];
    },
    'lenses.create': async () => ['POST', '/v1/lenses', { body: { name: 'tone', template: '[[text]]' } }],
    'lenses.publish': async (api, key) => {
      await api.call('POST', '/v1/lenses', { key, body: { name: 'tone', template: '[[text]]' } });
      return ['POST', '/v1/lenses/tone/versions', { body: { template: '[[text]]!' } }];
    },
    'lenses.archive': async (api, key) => {
      await api.call('POST', '/v1/lenses', { key, body: { name: 'tone', template: '[[text]]' } });
      return ['DELETE', '/v1/lenses/tone'];
    },
    'runs.create': async () => ['POST', '/v1/runs', { body: { workflowName: 'flow', input: { another: 1 } } }],
    'runs.cancel': async (_api, _key, runId) => ['POST', `/v1/runs/${runId}/cancel`],
    'runs.resume': async (_api, _key, runId) => ['POST', '/v1/runs/resume', { body: { runId } }],
    'runs.rerun': async (_api, _key, runId) => ['POST', `/v1/runs/${runId}/rerun`],
    'signals.send': async () => ['POST', '/v1/signals', { body: { name: 'paid', correlation: 'order-7' } }],
    'runs.wake': async (_api, _key, runId) => ['POST', `/v1/runs/${runId}/wake`],
    'tickets.create': async (_api, _key, runId) => ['POST', `/v1/runs/${runId}/tickets`],
    'sessions.link': async () => ['POST', '/v1/sessions/links'],
    'embeds.create': async () => ['POST', '/v1/embeds', { body: { workflowName: 'flow', origins: ['https://shop.example'] } }],
    'embeds.revoke': async (api, key) => {
      const body = { workflowName: 'flow', origins: ['https://shop.example'] };
      return ['DELETE', `/v1/embeds/${textIn(await api.call('POST', '/v1/embeds', { key, body }), 'embedId')}`];
    },
    'schedules.create': async () => ['POST', '/v1/schedules', { body: nightly }],
    'schedules.update': async (api, key) => {
      await api.call('POST', '/v1/schedules', { key, body: nightly });
      return ['POST', '/v1/schedules/nightly', { body: { rate: '2 days' } }];
    },
    'schedules.pause': async (api, key) => {
      await api.call('POST', '/v1/schedules', { key, body: nightly });
      return ['POST', '/v1/schedules/nightly/pause'];
    },
    'schedules.resume': async (api, key) => {
      await api.call('POST', '/v1/schedules', { key, body: nightly });
      return ['POST', '/v1/schedules/nightly/resume'];
    },
    'schedules.delete': async (api, key) => {
      await api.call('POST', '/v1/schedules', { key, body: nightly });
      return ['DELETE', '/v1/schedules/nightly'];
    },
    'workflows.test': async () => ['POST', '/v1/workflows/test', { body: openGraph }],
    'runs.stop': async (api, key) => {
      const test = await api.call('POST', '/v1/workflows/test', { key, body: openGraph });
      return ['POST', `/v1/runs/${textIn(test, 'runId')}/stop`];
    },
    'keys.create': async () => ['POST', '/v1/keys', { body: { scopes: ['runs:read'] } }],
    'keys.revoke': async (api) => ['DELETE', `/v1/keys/${(await api.key(['runs:read'])).split('_')[2]}`],
    'keys.rotate': async (api) => ['POST', `/v1/keys/${(await api.key(['runs:read'])).split('_')[2]}/rotate`],
    'deployments.create': async (_api, key) => ['POST', '/v1/deployments', await formFor(key, 'one')],
    'deployments.activate': async (api, key) => {
      await shipped(api, key, 'one');
      return ['POST', '/v1/deployments/one/activate'];
    },
    'deployments.verify': async (api, key) => {
      await shipped(api, key, 'one');
      return ['POST', '/v1/deployments/one/verify'];
    },
    'deployments.deactivate': async (api, key) => {
      await shipped(api, key, 'one');
      await activated(api, key, 'one');
      return ['POST', '/v1/deployments/one/deactivate'];
    },
    'deployments.rollback': async (api, key) => {
      await shipped(api, key, 'one', 'two');
      await activated(api, key, 'one');
      await activated(api, key, 'two');
      return ['POST', '/v1/deployments/rollback'];
    },
    'world.app.register': async () => ['POST', '/v1/world/apps', { body: { baseUrl: 'https://app.example.com' } }],
    'hooks.resume': async (api, key) => {
      const app = await api.call('POST', '/v1/world/apps', { key, body: { baseUrl: 'https://app.example.com' } });
      const eventData = { workflowName: 'order', deploymentId: app.body['deploymentId'] };
      const event = (runId: string | null, data: object) =>
        api.call('POST', '/v1/world/events/create', { key, body: { runId, data: { specVersion: 7, ...data } } });
      const created = await event(null, { eventType: 'run_created', eventData });
      const { runId } = z.object({ run: z.object({ runId: z.string() }) }).parse(created.body).run;
      await event(runId, { eventType: 'hook_created', correlationId: 'hook_1', eventData: { token: 'approve:tea' } });
      return ['POST', '/v1/world/hooks/resume', { body: { token: 'approve:tea' } }];
    },
    'world.queue.publish': async (api, key) => {
      await shipped(api, key, 'one');
      const body = { workflowName: 'hello', deploymentId: 'one' };
      const run = await api.call('POST', '/v1/runs', { key, body, headers: { 'Idempotency-Key': 'code' } });
      return [
        'POST',
        '/v1/queue/publish',
        { body: { queueName: '__wkf_workflow_hello', message: { runId: run.body['runId'] } } },
      ];
    },
    'deployments.remove': async (api, key) => {
      await shipped(api, key, 'one');
      return ['DELETE', '/v1/deployments/one'];
    },
  };

  test.each(mutating.map(({ action = '' }) => action))('%s leaves one entry', async (action) => {
    const ask = good[action];
    const route = mutating.find((one) => one.action === action);
    if (ask === undefined || route === undefined) throw new Error(`say here how ${action} is asked for`);
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    const [method, path, options = {}] = await ask(api, key, runId);
    const before = entriesOf(api).length;
    const { status, body } = await api.call(method, path, { ...options, key, headers: { ...headers, ...options.headers } });
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    const made = entriesOf(api).slice(before);
    expect(made).toMatchObject([{ ...common(route, key), result: 'success' }]);
    expect(made[0]?.metadata['status']).toBe(status);
    if (action.startsWith('runs.')) expect(made[0]?.metadata['runId']).toMatch(/^wrun_/);
  });
});

test('a request that throws is recorded, because it may have taken effect', async () => {
  const api = http((world) => ({
    workflows: overrideMethods(world.workflows, { putVersion: () => Promise.reject(new Unavailable('the table')) }),
  }));
  const key = await api.key(['admin']);
  expect((await api.call('POST', '/v1/workflows', { key, headers, body: { name: 'flow', ...openGraph } })).status).toBe(503);
  expect(entriesOf(api)).toMatchObject([
    { action: 'workflows.create', result: 'failure', metadata: { status: 503, code: 'unavailable', correlationId: 'corr-1' } },
  ]);
});

describe('failed authentications', () => {
  test('of each kind are recorded with why, and without what was presented', async () => {
    const api = http();
    const now = api.world.clock.now();
    const good = await api.key(['admin']);
    const [expired, revoked] = [await api.key(['admin'], { expiresAt: now }), await api.key(['admin'], { revokedAt: now })];
    // Well made, of the same id as the first, and with another place in it.
    const stranger = await http().key(['admin'], { env: 'live' });
    const presented: readonly (readonly [string, string | undefined])[] = [
      ['missing', undefined],
      ['malformed', 'sw_test_x_y'],
      ['malformed', `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`],
      ['wrong', stranger],
      ['expired', expired],
      ['revoked', revoked],
    ];
    for (const [, key] of presented) await api.call('GET', '/v1/runs', { headers, ...(key === undefined ? {} : { key }) });
    expect(entriesOf(api).map(({ action, result, metadata }) => [action, result, metadata['why']])).toEqual(
      presented.map(([why]) => ['auth.failure', 'failure', why]),
    );
    for (const entry of entriesOf(api)) {
      expect(entry).toMatchObject({ resource: 'GET /v1/runs', ip: '192.0.2.1', metadata: { correlationId: 'corr-1', traceId } });
    }
    const kept = JSON.stringify([entriesOf(api), api.logs]);
    for (const key of [good, expired, revoked, stranger]) expect(kept).not.toContain(key.split('_')[3]);
  });

  test('an unknown key is one entry without a project', async () => {
    const api = http();
    await api.call('GET', '/v1/runs', { key: await http().key(['admin']) });
    expect(entriesOf(api)).toMatchObject([{ keyId: null, scope: null, metadata: { why: 'unknown' } }]);
  });

  test('one with a wrong checksum asks no store', async () => {
    let reads = 0;
    const api = http((world) => ({
      keys: Object.assign(Object.create(world.keys), {
        putKey: world.keys.putKey.bind(world.keys),
        key: (...asked: Parameters<typeof world.keys.key>) => {
          reads += 1;
          return world.keys.key(...asked);
        },
      }),
    }));
    const good = await api.key(['admin']);
    await api.call('GET', '/v1/runs', { key: `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}` });
    expect(reads).toBe(0);
    await api.call('GET', '/v1/runs', { key: good });
    expect(reads).toBe(1);
  });

  test('cost a bounded number of writes a minute; the rest are counted, and a log line says how many', async () => {
    const api = http();
    const revoked = await api.key(['admin'], { revokedAt: api.world.clock.now() });
    for (let count = 0; count < maxFailuresRecorded + 25; count += 1) await api.call('GET', '/v1/runs');
    expect(entriesOf(api)).toHaveLength(maxFailuresRecorded);
    // A flood without a key does not hide what is tried with one.
    await api.call('GET', '/v1/runs', { key: revoked });
    expect(entriesOf(api).at(-1)).toMatchObject({ metadata: { why: 'revoked' } });
    expect(api.logs.filter(({ message }) => message.includes('not recorded'))).toEqual([]);
    api.world.clock.advance(minutes(1));
    await api.call('GET', '/v1/runs');
    expect(entriesOf(api)).toHaveLength(maxFailuresRecorded + 2);
    expect(api.logs.filter(({ message }) => message.includes('not recorded'))).toMatchObject([
      { level: 'warn', facts: { notRecorded: 25 } },
    ]);
    api.world.clock.advance(minutes(1));
    await api.call('GET', '/v1/runs');
    expect(api.logs.filter(({ message }) => message.includes('not recorded'))).toHaveLength(1);
  });
});
