/** What a caller learns of the installation: numbers, switches, and the names of its own project. */
import { describe, expect, test } from 'vitest';
import type { DeployedSettings } from '../../lib/api/schemas/installation.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { http } from './http.ts';
import { testInstallation } from './installation.ts';

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
    choices: { runEvents: 'failed' },
    names: {
      corsOrigins: ['https://app.example.com'],
      models: ['fast'],
      secrets: ['stripe', 'shared'],
      databases: [],
      webhooks: ['git'],
      triggers: ['orders'],
    },
  });
  expect((await ask({ project: 'other' }))['names']).toMatchObject({ secrets: ['of-another'], webhooks: [] });
  expect((await ask({ project: 'constructor' }))['names']).toMatchObject({ secrets: [], webhooks: [] });
});

describe('the catalogue', () => {
  const withSettings = (settings: () => Promise<DeployedSettings>) =>
    http(undefined, undefined, undefined, undefined, undefined, { region: 'eu-west-1', settings });

  test('has the names of the caller’s project and environment for a key that reads definitions, and nothing else', async () => {
    const api = http();
    const ask = async (of: { project?: string; env?: string }) =>
      api.call('GET', '/v1/catalogue', { key: await api.key(['workflows:read'], of) });
    expect(await ask({})).toMatchObject({ status: 200 });
    expect((await ask({})).body).toEqual({ secrets: ['stripe', 'shared'], models: ['fast'], databases: [] });
    expect((await ask({ env: 'live' })).body).toEqual({ secrets: ['live-only', 'shared'], models: ['fast'], databases: [] });
    expect((await ask({ project: 'other' })).body).toEqual({ secrets: ['of-another'], models: ['fast'], databases: [] });
    for (const project of ['constructor', 'unknown'])
      expect((await ask({ project })).body).toEqual({ secrets: [], models: ['fast'], databases: [] });
  });

  test('other scopes do not read it, and it needs a key', async () => {
    const api = http();
    const refused = await api.call('GET', '/v1/catalogue', {
      key: await api.key(['runs:read', 'deploy:read', 'workflows:write']),
    });
    expect([refused.status, refused.body['code'], refused.body['required']]).toEqual([403, 'missing_scope', 'workflows:read']);
    expect((await api.call('GET', '/v1/catalogue')).status).toBe(401);
  });

  test('a name of the environment that is also one of all environments is there once', async () => {
    const api = withSettings(async () => ({
      ...(await testInstallation.settings()),
      secrets: { acme: { test: ['mail', '__proto__'], '*': ['mail', 'crm'] } },
      databases: JSON.parse('{"acme":{"*":["orders"]},"__proto__":{"test":["of-no-project"]}}'),
      models: [],
    }));
    const { body } = await api.call('GET', '/v1/catalogue', { key: await api.key(['workflows:read']) });
    expect(body).toEqual({ secrets: ['mail', '__proto__', 'crm'], models: [], databases: ['orders'] });
  });

  test('an installation whose settings cannot be read says to try again, and nothing of them', async () => {
    const api = withSettings(() =>
      Promise.reject(new Unavailable('the setting deployed', { cause: new Error('no version 7 in arn:aws:dynamodb') })),
    );
    const { status, body } = await api.call('GET', '/v1/catalogue', { key: await api.key(['workflows:read']) });
    expect([status, body['code']]).toEqual([503, 'unavailable']);
    expect(JSON.stringify(body)).not.toContain('arn:');
  });
});
