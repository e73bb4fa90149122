/** What a caller learns of the installation: numbers, switches, and the names of its own project. */
import { expect, test } from 'vitest';
import { http } from './http.ts';

test('names are those of the project and environment of the caller', async () => {
  const api = http();
  const ask = async (of: { project?: string; env?: string }) =>
    (await api.call('GET', '/v1/installation', { key: await api.key(['deploy:read'], of) })).body;
  const body = await ask({});
  expect(body).toEqual({
    version: '1.2.3',
    region: 'eu-west-1',
    limits: { retentionDays: 30, watchers: null },
    features: { metrics: true, traces: false },
    names: {
      corsOrigins: ['https://app.example.com'],
      models: ['fast'],
      secrets: ['stripe', 'shared'],
      databases: [],
      webhooks: ['git'],
    },
  });
  expect((await ask({ project: 'other' }))['names']).toMatchObject({ secrets: ['of-another'], webhooks: [] });
  expect((await ask({ project: 'constructor' }))['names']).toMatchObject({ secrets: [], webhooks: [] });
});
