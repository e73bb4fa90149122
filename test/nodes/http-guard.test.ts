import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import type { NetworkAccess } from '../../lib/egress/destination.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { inputOf, planNode, toolsOf } from './given.ts';
import { OtherSide, reachOf } from './other-side.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => server.answers((_request, response) => response.end('ok')));

const ask = async (url: string, networkAccess?: NetworkAccess, config: JsonObject = {}) => {
  const attempt = createAttemptRunner(createRunners(networkAccess === undefined ? {} : { networkAccess }));
  const { outcome } = await attempt(planNode('http', { url: '{{ctx.url}}', ...config }), inputOf({ url }), toolsOf());
  return outcome.kind === 'failed' ? `${outcome.failure.cause} ${outcome.failure.code}` : outcome.kind;
};

describe('the production rule forbids this machine and its network', () => {
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '0',
    '0.0.0.0',
    'localhost',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '127。0。0。1',
    '①②⑦.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '[fd00:ec2::254]',
    '2852039166',
    '169.254.170.2',
    '192.168.1.1',
    '[fe80::1]',
  ];
  it.each(hosts)('%s', async (host) => {
    expect(await ask(`http://${host}:${server.port}/latest/meta-data/`)).toBe('forbidden address_forbidden');
    expect(server.seen).toEqual([]);
  });
});

it('other protocols are rejected', async () => {
  for (const url of ['file:///etc/passwd', 'ftp://api.test/', 'gopher://api.test/', 'data:text/plain,a', 'javascript:1'])
    expect([url, await ask(url, reachOf())]).toEqual([url, 'forbidden protocol_forbidden']);
});

it('an allowed address is reachable on any port', async () => {
  expect(await ask(server.url('/'), reachOf())).toBe('finished');
  expect(await ask(server.url('/', '127.0.0.1'), reachOf())).toBe('finished');
});

it('a name with one forbidden address among several is forbidden', async () => {
  const reach = reachOf({ 'mixed.test': [['127.0.0.1', '10.0.0.1']] });
  expect(await ask(server.url('/', 'mixed.test'), reach)).toBe('forbidden address_forbidden');
  expect(server.seen).toEqual([]);
});

it('a name is resolved once, and the connection is pinned to the checked address', async () => {
  const reach = reachOf({ 'changing.test': [['127.0.0.1'], ['10.0.0.1']] });
  expect(await ask(server.url('/', 'changing.test'), reach)).toBe('finished');
  expect(reach.asked).toEqual(['changing.test']);
  expect(server.seen).toHaveLength(1);
  expect(server.seen[0]?.headers.host).toBe(`changing.test:${server.port}`);
});

it('a name without an address is a retryable failure', async () => {
  expect(await ask('http://nowhere.test/', reachOf())).toBe('provider_error name_not_resolved');
  expect(await ask('http://empty.test/', reachOf({ 'empty.test': [[]] }))).toBe('provider_error name_not_resolved');
});

describe('each hop of a redirect is checked', () => {
  const targets = [
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://private.test/',
    '//private.test/',
    'http://mixed.test/',
    'http://2130706432/',
  ];
  it.each(targets)('to %s', async (location) => {
    server.answers((_request, response) => response.writeHead(302, { location }).end());
    const reach = reachOf({ 'private.test': [['192.168.0.1']], 'mixed.test': [['127.0.0.1', '::1']] });
    expect(await ask(server.url('/'), reach)).toBe('forbidden address_forbidden');
    expect(server.seen).toHaveLength(1);
  });

  it('also its protocol', async () => {
    server.answers((_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
    expect(await ask(server.url('/'), reachOf())).toBe('forbidden protocol_forbidden');
  });

  it('a name that changes between two hops is resolved again', async () => {
    server.answers((_request, response) => response.writeHead(302, { location: '/again' }).end());
    const reach = reachOf({ 'changing.test': [['127.0.0.1'], ['10.0.0.1']] });
    expect(await ask(server.url('/', 'changing.test'), reach)).toBe('forbidden address_forbidden');
    expect(server.seen.map(({ url }) => url)).toEqual(['/']);
  });

  it('the number of redirects is limited by the node', async () => {
    server.answers((_request, response) => response.writeHead(307, { location: '/again' }).end());
    expect(await ask(server.url('/'), reachOf())).toBe('invalid too_many_redirects');
    expect(server.seen).toHaveLength(6);
    server.answers((_request, response) => response.writeHead(307, { location: '/again' }).end());
    expect(await ask(server.url('/'), reachOf(), { maxRedirects: 1 })).toBe('invalid too_many_redirects');
    expect(server.seen).toHaveLength(2);
    expect(await ask(server.url('/'), reachOf(), { maxRedirects: 0 })).toBe('finished');
  });
});

it('the environment’s proxy is not used', async () => {
  process.env['http_proxy'] = 'http://127.0.0.1:1';
  process.env['HTTP_PROXY'] = 'http://127.0.0.1:1';
  try {
    expect(await ask(server.url('/'), reachOf())).toBe('finished');
  } finally {
    delete process.env['http_proxy'];
    delete process.env['HTTP_PROXY'];
  }
});
