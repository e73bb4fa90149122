/** Deleting a workflow over HTTP: what it needs, what it answers, and what others are answered meanwhile. */
import { expect, test } from 'vitest';
import { http, openGraph, started, textIn } from './http.ts';
import { sweepDeletions } from './sweep.ts';

const withRun = async () => {
  const api = http();
  const key = await api.key(['admin']);
  const runId = await started(api, key, { graph: openGraph });
  const ask = (confirm: unknown, by = key) => api.call('POST', '/v1/workflows/flow/delete', { key: by, body: { confirm } });
  return { api, key, runId, ask };
};

test('it needs the scope admin, and the name of the workflow once more', async () => {
  const { api, key, ask } = await withRun();
  expect((await ask('flow', await api.key(['workflows:write', 'runs:write', 'trigger:write']))).body).toMatchObject({
    code: 'missing_scope',
    required: 'admin',
  });
  for (const wrong of ['', 'Flow', 'flow ', 'other'])
    expect((await ask(wrong)).body).toMatchObject({ code: 'confirmation_mismatch' });
  for (const wrong of [undefined, true, ['flow']]) expect((await ask(wrong)).body).toMatchObject({ code: 'invalid_request' });
  const unknown = await api.call('POST', '/v1/workflows/nothing/delete', { key, body: { confirm: 'flow' } });
  expect(unknown).toMatchObject({ status: 404, body: { code: 'workflow_not_found' } });
  expect((await api.call('GET', '/v1/workflows/flow', { key })).body).not.toHaveProperty('deletingSince');
});

test('a deletion shows its progress, and afterwards the name is free', async () => {
  const { api, key, runId, ask } = await withRun();
  const asked = await ask('flow');
  const requestedAt = '2026-01-01T00:00:00.000Z';
  const deletion = { requestedAt, state: 'finding_runs', runsFound: 0, runsDeleted: 0 };
  expect(asked).toMatchObject({ status: 202, body: { name: 'flow', deletion } });
  expect(await ask('flow')).toMatchObject({ status: 202, body: asked.body });
  const seen = await api.call('GET', '/v1/workflows/flow', { key });
  expect(seen.body).toMatchObject({ deletingSince: requestedAt, deletion, nodes: expect.any(Array) });
  expect((await api.call('GET', '/v1/workflows', { key })).body).toMatchObject({
    data: [{ name: 'flow', deletingSince: requestedAt }],
  });

  const start = (idempotencyKey: string) =>
    api.call('POST', '/v1/runs', { key, body: { workflowName: 'flow' }, headers: { 'Idempotency-Key': idempotencyKey } });
  const schedule = { scheduleId: 'nightly', workflowName: 'flow', rate: '1 day' };
  for (const refused of [
    await start('while it is deleted'),
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } }),
    await api.call('POST', '/v1/workflows/flow/versions', { key, body: openGraph }),
    await api.call('DELETE', '/v1/workflows/flow', { key }),
    await api.call('POST', '/v1/schedules', { key, body: schedule }),
    await api.call('POST', `/v1/runs/${runId}/rerun`, { key, headers: { 'Idempotency-Key': 'again' } }),
  ])
    expect(refused).toMatchObject({ status: 409, body: { code: 'workflow_deleting' } });

  expect(await sweepDeletions(api)).toMatchObject({ failed: [] });
  const gone = await api.call('GET', '/v1/workflows/flow', { key });
  expect(gone).toMatchObject({ status: 404, body: { code: 'workflow_not_found' } });
  // What the refusal above advised to wait for.
  expect(textIn(await start('after it'), 'code')).toBe('no_active_deployment');
  for (const path of [`/v1/runs/${runId}`, `/v1/runs/${runId}/events`])
    expect((await api.call('GET', path, { key })).status).toBe(404);
  expect((await api.call('GET', '/v1/runs', { key })).body).toMatchObject({ data: [] });
  expect(await ask('flow')).toMatchObject({ status: 404, body: { code: 'workflow_not_found' } });

  const created = await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph } });
  expect(created).toMatchObject({ status: 201, body: { version: 2 } });
  expect((await api.call('GET', '/v1/workflows/flow', { key, query: { version: '1' } })).status).toBe(404);
  expect((await start('of the new one')).status).toBe(202);
});

test('the audit trail has the caller and, at the end, the number of deleted runs', async () => {
  const { api, key, ask } = await withRun();
  await ask('wrong');
  await ask('flow');
  await sweepDeletions(api);
  const { body } = await api.call('GET', '/v1/audit', { key });
  const keyId = key.split('_')[2];
  const ofFlow = { resource: 'workflow/flow', keyId };
  expect(body['data']).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...ofFlow, action: 'workflows.delete', result: 'failure' }),
      expect.objectContaining({ ...ofFlow, action: 'workflows.delete', result: 'success' }),
      expect.objectContaining({
        ...ofFlow,
        action: 'workflows.deleted',
        metadata: { runs: 1, throughVersion: 1, requestedAt: '2026-01-01T00:00:00.000Z' },
      }),
    ]),
  );
});

test('a deletion names the blocking schedules, and starts without them', async () => {
  const { api, key, ask } = await withRun();
  await api.call('POST', '/v1/schedules', { key, body: { scheduleId: 'nightly', workflowName: 'flow', rate: '1 day' } });
  const refused = await ask('flow');
  expect(refused).toMatchObject({ status: 409, body: { code: 'workflow_scheduled' } });
  const [, method = '', path = ''] = /(DELETE) (\S+)"/.exec(JSON.stringify(refused.body['errors'])) ?? [];
  await api.call(method, path, { key });
  expect((await ask('flow')).status).toBe(202);
});
