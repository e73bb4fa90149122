/** Messages on their way to applications: which addresses get them, and what each response comes to. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { appDestinationOf } from '../../lib/egress/app-address.ts';
import { HttpAppCalls } from '../../lib/egress/app-calls.ts';
import type { NetworkAccess } from '../../lib/egress/destination.ts';
import { networkAccessOf } from '../../lib/egress/private-destinations.ts';
import { type Instant, after, instant, seconds } from '../../lib/engine/time.ts';
import { maxWebhookResponseBytes } from '../../lib/ports/bundles.ts';
import { OtherSide, reachOf } from '../nodes/other-side.ts';

const app = new OtherSide();
beforeAll(() => app.start());
afterAll(() => app.stop());
beforeEach(() => app.answers((_request, response) => response.end('{"ok":true}')));

const clock = { now: () => instant(Date.now()) };
const soon = (): { readonly endsAt: Instant } => ({ endsAt: after(clock.now(), seconds(5)) });
const path = '/.well-known/workflow/v1/flow';
const headers = { 'content-type': 'application/json', 'x-stepwell-signature': 'v1=ab' };

const post = (url: string, access: NetworkAccess = reachOf(), limits = soon()) =>
  new HttpAppCalls(() => access, clock).post({ url, headers, body: '{"runId":"wrun_1"}' }, limits);

/** The rule of an installation with this setting, for a name with these addresses. */
const ruleOf = (setting: readonly string[], addresses: readonly string[]): NetworkAccess => ({
  ...networkAccessOf(setting),
  resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
});

describe('a message', () => {
  test('is posted with its headers, and the JSON of the response is the answer', async () => {
    app.answers((_request, response) => response.end('{"timeoutSeconds":5}'));
    expect(await post(app.url(path))).toEqual({ kind: 'responded', status: 200, body: { timeoutSeconds: 5 } });
    expect(app.seen).toMatchObject([{ method: 'POST', url: path, headers, body: '{"runId":"wrun_1"}' }]);
  });

  test.each([204, 400, 401, 404, 500, 503])('that is answered with status %i comes to that status', async (status) => {
    app.answers((_request, response) => response.writeHead(status).end(status === 204 ? undefined : '<html>no JSON</html>'));
    expect(await post(app.url(path))).toEqual({ kind: 'responded', status, body: undefined });
  });

  test.each([301, 302, 307, 308])('follows no redirect with status %i, to its own host or to another one', async (status) => {
    for (const location of [app.url('/elsewhere'), 'http://169.254.169.254/latest/meta-data/']) {
      app.answers((_request, response) => response.writeHead(status, { location }).end());
      expect(await post(app.url(path))).toEqual({ kind: 'responded', status, body: undefined });
      expect(app.seen.map(({ url }) => url)).toEqual([path]);
    }
  });

  test('without an answer fails at the end of its time', async () => {
    app.answers(() => undefined);
    const limits = { endsAt: after(clock.now(), seconds(0.2)) };
    expect(await post(app.url(path), reachOf(), limits)).toEqual({
      kind: 'failed',
      reason: `the request to ${app.url('')} failed: The operation was aborted due to timeout`,
    });
  });

  test('whose time is over is not sent for longer', async () => {
    app.answers(() => undefined);
    expect(await post(app.url(path), reachOf(), { endsAt: instant(0) })).toMatchObject({ kind: 'failed' });
  });

  test('whose answer stops in the middle fails', async () => {
    app.answers((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"ok"');
      setTimeout(() => response.destroy(), 20);
    });
    expect(await post(app.url(path))).toMatchObject({ kind: 'failed', reason: expect.stringContaining(app.url('')) });
  });

  test('whose answer has no end is read up to a limit, and keeps its status', async () => {
    let sent = 0;
    app.answers((_request, response) => {
      response.on('error', () => undefined);
      const write = (): void => {
        if (response.destroyed) return;
        sent += 16_384;
        if (response.write(Buffer.alloc(16_384, 'a'))) setImmediate(write);
        else response.once('drain', write);
      };
      write();
    });
    expect(await post(app.url(path))).toEqual({ kind: 'responded', status: 200, body: undefined });
    expect(sent).toBeLessThan(16_777_216);
  });

  test('for a port that nothing listens on fails with the reason', async () => {
    const free = new OtherSide();
    await free.start();
    const url = free.url(path);
    await free.stop();
    expect(await post(url)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('ECONNREFUSED') });
  });
});

describe('the guard', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254', '[fd00:ec2::254]', '2130706433'])(
    'lets no message through to %s, and names the settings that could',
    async (host) => {
      const sent = await post(`http://${host}:${app.port}${path}`, networkAccessOf([]));
      expect(sent).toEqual({
        kind: 'failed',
        reason: expect.stringMatching(/is not an address of the public internet.*privateDestinations.*--allow-localhost/),
      });
      expect(app.seen).toEqual([]);
    },
  );

  test('pins the connection to the addresses that it checked', async () => {
    const access = reachOf({ 'rebinding.test': [['127.0.0.1'], ['10.0.0.1']] });
    expect(await post(app.url(path, 'rebinding.test'), access)).toMatchObject({ kind: 'responded' });
    expect(access.asked).toEqual(['rebinding.test']);
  });

  test('forwards no request for a webhook to a forbidden address, and no response above the limit', async () => {
    const request = { method: 'PUT', headers: {}, body: new Uint8Array([1]) };
    const forward = (url: string, access: NetworkAccess) =>
      new HttpAppCalls(() => access, clock).forward({ ...request, url }, soon());
    expect(await forward(`http://127.0.0.1:${app.port}/x`, networkAccessOf([]))).toMatchObject({ kind: 'failed' });
    expect(app.seen).toEqual([]);
    app.answers((_request, response) => response.end(Buffer.alloc(maxWebhookResponseBytes + 1)));
    expect(await forward(app.url('/x'), reachOf())).toMatchObject({
      kind: 'failed',
      reason: `the response is larger than ${maxWebhookResponseBytes} bytes`,
    });
  });
});

describe('an address of an application', () => {
  test.each([
    ['https://shop.test', [], ['93.184.216.34'], undefined],
    ['http://shop.test', [], ['93.184.216.34'], 'http://shop.test is on the internet, so its address must begin with https'],
    ['https://shop.test', [], ['10.0.0.7'], 'shop.test is not an address of the public internet'],
    ['http://shop.test', ['10.0.0.0/16'], ['10.0.0.7'], undefined],
    ['http://shop.test', ['10.0.0.0/16'], ['10.0.0.7', '93.184.216.34'], 'must begin with https'],
    ['http://localhost:3000', [], ['127.0.0.1'], 'stepwell start --allow-localhost'],
    ['http://localhost:3000', ['localhost'], ['127.0.0.1'], undefined],
    ['https://shop.test', [], [], 'the name shop.test has no address'],
  ])('%s with the setting %j and the addresses %j', async (url, setting, addresses, refusal) => {
    const found = await appDestinationOf(new URL(url), ruleOf(setting, addresses));
    if (refusal === undefined) expect(found).toMatchObject({ addresses: addresses.map((address) => ({ address })) });
    else expect(found).toMatchObject({ refused: expect.stringContaining(refusal), isUnknown: addresses.length === 0 });
  });
});
