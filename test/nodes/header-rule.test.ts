/** Allowed header names: one rule for `http` nodes, stored queries and webhook settings. */
import { expect, test } from 'vitest';
import { validateQuery } from '../../lib/engine/query/validate-query.ts';
import { queryName } from '../../lib/engine/ids.ts';
import { seconds } from '../../lib/engine/time.ts';
import { webhookProviders } from '../../lib/webhooks/provider.ts';
import { found } from './given.ts';

const inNode = (name: string) => found('http', { url: 'https://example.com', headers: { [name]: 'x' } });

const inQuery = (name: string) =>
  validateQuery({
    kind: 'http',
    name: queryName('orders'),
    parameters: [],
    maxBytes: 1_000,
    timeoutMs: seconds(30),
    connection: 'https://api.example.com',
    request: { method: 'GET', path: '/orders', query: {}, headers: { [name]: 'x' }, body: null },
  }).findings.map(({ code, pointer }) => `${code} ${pointer}`);

const provider = {
  scheme: 'hmac-sha256',
  secretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:hooks/github-AbCdEf',
  projectId: 'default',
  environment: 'production',
  target: { workflowName: 'on-push' },
  header: 'x-signature',
  encoding: 'hex',
};
const inWebhook = (key: 'header' | 'idHeader', name: string): readonly string[] => {
  const read = webhookProviders.safeParse({ jobs: { ...provider, [key]: name } });
  return read.success ? [] : read.error.issues.map(({ path }) => path.join('/'));
};

test.each([
  'Host',
  'Content-Length',
  'Transfer-Encoding',
  'Connection',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Upgrade',
  'HTTP2-Settings',
  'Expect',
  'Proxy-Authorization',
  'Proxy-Connection',
  'proxy-',
  'a b',
  'a\r\nb',
  'a:',
  ':authority',
  '',
  'é',
  'x'.repeat(129),
])('the header %j is rejected everywhere, with its path', (name) => {
  const step = name.replaceAll('/', '~1');
  expect(inNode(name)).toEqual([`config_invalid /nodes/0/config/headers/${step}`]);
  expect(inQuery(name)).toEqual([`config_invalid /request/headers/${step}`]);
  for (const key of ['header', 'idHeader'] as const) expect(inWebhook(key, name)).toContain(`jobs/${key}`);
});

test.each(['Authorization', 'x-api-key', 'Cookie', 'Content-Type', 'hosted', 'x-host', 'te2', 'x-proxy-id', 'X'.repeat(100)])(
  'the header %s is taken by each of them',
  (name) => {
    expect(inNode(name)).toEqual([]);
    expect(inQuery(name)).toEqual([]);
    for (const key of ['header', 'idHeader'] as const) expect(inWebhook(key, name)).toEqual([]);
  },
);
