/** The routes about schedules. */
import { describe, expect, test } from 'vitest';
import type { KeyScope } from '../../lib/ports/control.ts';
import { http, instantGraph, textIn } from './http.ts';

const nightly = { scheduleId: 'nightly', workflowName: 'flow', cron: '0 3 * * ? *', timeZone: 'Europe/Berlin' };

const given = async (scopes: readonly KeyScope[] = ['admin']) => {
  const api = http();
  const admin = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key: admin, body: { name: 'flow', ...instantGraph() } });
  const key = await api.key(scopes);
  return {
    api,
    key,
    post: (path: string, body?: unknown) => api.call('POST', path, { key, ...(body === undefined ? {} : { body }) }),
  };
};

test('five fields as in Unix cron are stored as the six that mean the same', async () => {
  const { post } = await given();
  const unix = { ...nightly, cron: '0 3 * * 1-5' };
  const made = await post('/v1/schedules', unix);
  expect([made.status, made.body]).toMatchObject([201, { cron: '0 3 ? * MON-FRI *', nextRunAt: '2026-01-01T02:00:00.000Z' }]);
  expect((await post('/v1/schedules', unix)).status).toBe(200);
  expect((await post('/v1/schedules/nightly', { cron: '30 4 * * 7' })).body).toMatchObject({ cron: '30 4 ? * SUN *' });
  expect((await post('/v1/schedules/nightly', { cron: '30 4 1 * 7' })).body).toMatchObject({
    code: 'invalid_request',
    errors: [{ pointer: '/cron', code: 'cron_invalid' }],
  });
});

test('one is made, shown, changed, paused, resumed and deleted', async () => {
  const { api, key, post } = await given();
  const made = await post('/v1/schedules', { ...nightly, input: { n: 1 } });
  const shown = {
    ...nightly,
    input: { n: 1 },
    overlap: 'skip',
    catchUpSeconds: 86_400,
    paused: false,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    nextRunAt: '2026-01-01T02:00:00.000Z',
    recentFires: [],
  };
  expect([made.status, made.body, made.headers['location']]).toEqual([201, shown, '/v1/schedules/nightly']);
  const again = await post('/v1/schedules', { ...nightly, input: { n: 1 } });
  expect([again.status, again.body]).toEqual([200, shown]);
  expect((await api.call('GET', '/v1/schedules/nightly', { key })).body).toEqual(shown);

  const changed = await post('/v1/schedules/nightly', { rate: '90 minutes', overlap: 'allow', version: 1 });
  const { cron: _cron, timeZone: _zone, ...rest } = shown;
  expect(changed.body).toEqual({
    ...rest,
    rate: '90 minutes',
    overlap: 'allow',
    version: 1,
    nextRunAt: '2026-01-01T01:30:00.000Z',
  });
  expect((await post('/v1/schedules/nightly', { version: null })).body).not.toHaveProperty('version');

  const paused = (await post('/v1/schedules/nightly/pause')).body;
  expect([paused['paused'], paused['nextRunAt']]).toEqual([true, undefined]);
  expect((await post('/v1/schedules/nightly/pause')).status).toBe(200);
  expect((await post('/v1/schedules/nightly/resume')).body).toMatchObject({
    paused: false,
    nextRunAt: '2026-01-01T01:30:00.000Z',
  });

  expect((await api.call('DELETE', '/v1/schedules/nightly', { key })).body).toEqual({ scheduleId: 'nightly', deleted: true });
  expect((await api.call('GET', '/v1/schedules/nightly', { key })).status).toBe(404);
});

test('they are listed by id, page by page, without their inputs', async () => {
  const { api, key, post } = await given();
  for (const scheduleId of ['c', 'a', 'b']) await post('/v1/schedules', { ...nightly, scheduleId, input: { secret: 1 } });
  const first = await api.call('GET', '/v1/schedules', { key, query: { limit: '2' } });
  expect(first.body).toMatchObject({ data: [{ scheduleId: 'a' }, { scheduleId: 'b' }], hasMore: true });
  expect(JSON.stringify(first.body)).not.toContain('secret');
  const query = { limit: '2', cursor: textIn(first, 'cursor') };
  expect((await api.call('GET', '/v1/schedules', { key, query })).body).toMatchObject({
    data: [{ scheduleId: 'c' }],
    hasMore: false,
  });
  const broken = await api.call('GET', '/v1/schedules', { key, query: { cursor: 'x' } });
  expect(broken.body['code']).toBe('cursor_invalid');
});

describe('a schedule needs the scopes of the actions that it performs', () => {
  test.each<[readonly KeyScope[], object, string | undefined]>([
    [['workflows:write'], nightly, 'trigger:write'],
    [['trigger:write'], nightly, 'workflows:write'],
    [['workflows:write', 'trigger:write'], nightly, undefined],
    [['workflows:write', 'trigger:write'], { ...nightly, overlap: 'cancel_previous' }, 'runs:write'],
    [['workflows:write', 'trigger:write', 'runs:write'], { ...nightly, overlap: 'cancel_previous' }, undefined],
  ])('%j making %j', async (scopes, body, required) => {
    const { post } = await given(scopes);
    const { status, body: answer } = await post('/v1/schedules', body);
    expect([status, answer['required']]).toEqual([required === undefined ? 201 : 403, required]);
  });

  test('changing and resuming start runs again; pausing and deleting do not', async () => {
    const { api, post } = await given(['workflows:write', 'trigger:write']);
    await post('/v1/schedules', nightly);
    const key = await api.key(['workflows:write']);
    const statuses: number[] = [];
    for (const path of ['', '/resume', '/pause'])
      statuses.push((await api.call('POST', `/v1/schedules/nightly${path}`, { key })).status);
    statuses.push((await api.call('DELETE', '/v1/schedules/nightly', { key })).status);
    expect(statuses).toEqual([403, 403, 200, 200]);
  });
});

describe('errors have JSON pointers', () => {
  const withoutTiming = { scheduleId: 'nightly', workflowName: 'flow' };
  test.each<[object, string, string]>([
    [withoutTiming, '', 'timing_missing'],
    [{ ...nightly, rate: '1 day' }, '/rate', 'timing_twice'],
    [{ ...nightly, cron: '0 3 * * * *' }, '/cron', 'cron_invalid'],
    [{ ...withoutTiming, rate: '1 second' }, '/rate', 'rate_invalid'],
    [{ ...nightly, timeZone: 'CEST' }, '/timeZone', 'time_zone_unknown'],
    [{ ...withoutTiming, rate: '1 day', timeZone: 'UTC' }, '/timeZone', 'time_zone_unused'],
    [{ ...nightly, startAt: '2027-01-01T00:00:00Z', endAt: '2026-06-01T00:00:00Z' }, '/endAt', 'ends_before_start'],
    [{ ...nightly, endAt: '2026-01-01T01:00:00Z' }, '/endAt', 'never_fires'],
    [{ ...nightly, cron: '0 0 30 2 ? *' }, '/cron', 'never_fires'],
    [{ ...nightly, version: 2 }, '/version', 'version_unknown'],
  ])('%j', async (body, pointer, code) => {
    const { post } = await given();
    const refused = await post('/v1/schedules', body);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({
      code: 'invalid_request',
      errors: expect.arrayContaining([expect.objectContaining({ pointer, code })]),
    });
  });

  test.each<[object, string]>([
    [{ scheduleId: 'a b' }, '/scheduleId'],
    [{ scheduleId: 'x'.repeat(65) }, '/scheduleId'],
    [{ overlap: 'buffer_one' }, '/overlap'],
    [{ catchUpSeconds: 119 }, '/catchUpSeconds'],
    [{ catchUpSeconds: 86_401 }, '/catchUpSeconds'],
    [{ startAt: 'tomorrow' }, '/startAt'],
    [{ cron: '' }, '/cron'],
    [{ extra: 1 }, '/extra'],
  ])('%j', async (facts, pointer) => {
    const { post } = await given();
    const { status, body } = await post('/v1/schedules', { ...nightly, ...facts });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      code: 'invalid_request',
      errors: expect.arrayContaining([expect.objectContaining({ pointer })]),
    });
  });

  test('a workflow that cannot be started is refused as a start would be', async () => {
    const { api, key, post } = await given();
    expect((await post('/v1/schedules', { ...nightly, workflowName: 'unknown' })).body['code']).toBe('no_active_deployment');
    await api.call('DELETE', '/v1/workflows/flow', { key });
    expect((await post('/v1/schedules', nightly)).body['code']).toBe('workflow_archived');
  });
});
