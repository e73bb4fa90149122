import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Instant, instant } from '../../lib/engine/time.ts';
import { type ReceivedWebhook, verify } from '../../lib/webhooks/verify.ts';
import { type WebhookProvider, webhookProviders } from '../../lib/webhooks/provider.ts';

const common = {
  secretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:hooks-AbCdEf',
  projectId: 'default',
  environment: 'production',
  target: { workflowName: 'on-event' },
};
const providerOf = (settings: object): WebhookProvider => {
  const { one } = webhookProviders.parse({ one: { ...common, ...settings } });
  if (one === undefined) throw new Error('no provider');
  return one;
};
const text = (body: string): Uint8Array => new TextEncoder().encode(body);

/** The example of the reference implementations of Standard Webhooks. */
const standard = {
  provider: providerOf({ scheme: 'standard-webhooks' }),
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  now: instant(1_614_265_330_000),
  received: {
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: text('{"test": 2432232314}'),
  },
  signed: ['webhook-id', 'webhook-timestamp'],
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
};

/** The example of GitHub's documentation, with a delivery id, which is not signed. */
const github = {
  provider: providerOf({ scheme: 'github' }),
  secret: "It's a Secret to Everybody",
  now: instant(0),
  received: {
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    },
    body: text('Hello, World!'),
  },
  signed: [],
  id: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
};

const hmac = (secret: string, signed: string, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHmac('sha256', secret).update(signed).digest(encoding);

/** The example of Stripe's documentation; its signature of the older scheme is ignored. */
const stripeBody = '{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event"}';
const stripeOf = (body: string, at: number, secret = 'whsec_stripe'): ReceivedWebhook => ({
  headers: { 'stripe-signature': `t=${at},v1=${hmac(secret, `${at}.${body}`)},v0=${'6'.repeat(64)}` },
  body: text(body),
});
const stripe = {
  provider: providerOf({ scheme: 'stripe' }),
  secret: 'whsec_stripe',
  now: instant(1_492_774_577_000),
  received: stripeOf(stripeBody, 1_492_774_577),
  signed: ['stripe-signature'],
  id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
};

const plain = {
  provider: providerOf({ scheme: 'hmac-sha256', header: 'X-Signature', encoding: 'base64', idHeader: 'X-Request-Id' }),
  secret: 'a secret',
  now: instant(0),
  received: {
    headers: { 'x-signature': hmac('a secret', 'a body', 'base64'), 'x-request-id': 'r-1' },
    body: text('a body'),
  },
  signed: [],
  id: 'r-1',
};

interface Example {
  readonly provider: WebhookProvider;
  readonly secret: string;
  readonly now: Instant;
  readonly received: ReceivedWebhook;
  /** headers that the signature covers, or that contain it together with signed values */
  readonly signed: readonly string[];
  readonly id: string;
}
const examples: readonly (readonly [string, Example])[] = [
  ['Standard Webhooks', standard],
  ['GitHub', github],
  ['Stripe', stripe],
  ['an HMAC', plain],
];
const judged = ({ provider, secret, received, now }: Example, secrets: readonly string[] = [secret]) =>
  verify(provider, received, secrets, now);
const mismatch = { kind: 'refused', why: 'mismatch' };
const incomplete = { kind: 'refused', why: 'incomplete' };
const stale = { kind: 'refused', why: 'stale' };

describe.each(examples)('%s', (_name, example) => {
  const { provider, secret, received, now } = example;

  test('the example is verified, and has its id', () => {
    expect(judged(example)).toEqual({ kind: 'verified', deliveryId: example.id });
  });

  test('another secret or no secret does not verify it', () => {
    expect(judged(example, ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'])).toEqual(mismatch);
    expect(judged(example, [])).toEqual(mismatch);
  });

  test('one of several secrets is enough, as during a rotation', () => {
    expect(judged(example, ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', secret]).kind).toBe('verified');
  });

  test('any changed byte of the body is refused', () => {
    fc.assert(
      fc.property(fc.nat({ max: received.body.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const body = Uint8Array.from(received.body, (byte, index) => (index === at ? byte ^ flip : byte));
        expect(verify(provider, { ...received, body }, [secret], now)).toEqual(mismatch);
      }),
    );
  });

  test('a truncated or extended body is refused', () => {
    const bodies = [
      new Uint8Array(),
      received.body.slice(1),
      received.body.slice(0, -1),
      Buffer.concat([received.body, text('\n')]),
    ];
    for (const body of bodies) expect(verify(provider, { ...received, body }, [secret], now)).toEqual(mismatch);
  });

  test.each(Object.keys(received.headers))('a delivery without the header %s is refused', (name) => {
    const { [name]: _gone, ...headers } = received.headers;
    expect(verify(provider, { ...received, headers }, [secret], now)).toEqual(incomplete);
  });
});

const signing = examples.filter(([, { signed }]) => signed.length > 0);
test.each(signing)(
  '%s: any letter of a signed header that is another is refused',
  (_name, { provider, secret, received, now, signed }) => {
    const letters = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.constantFrom(...signed), fc.nat({ max: 1_000 }), letters, (name, place, letter) => {
        const value = received.headers[name] ?? '';
        // Of Stripe's header only the time and the signatures of this scheme count.
        const length = value.includes(',v0=') ? value.indexOf(',v0=') : value.length;
        const at = place % length;
        fc.pre(value[at] !== letter);
        const headers = { ...received.headers, [name]: value.slice(0, at) + letter + value.slice(at + 1) };
        expect(verify(provider, { ...received, headers }, [secret], now).kind).toBe('refused');
      }),
      { numRuns: 500 },
    );
  },
);

describe.each([
  ['Standard Webhooks', standard],
  ['Stripe', stripe],
] as const)('the time of %s', (_name, example) => {
  test('may differ by five minutes in either direction, and no more', () => {
    for (const off of [-300_000, 300_000]) expect(judged({ ...example, now: instant(example.now + off) }).kind).toBe('verified');
    for (const off of [-300_001, 300_001]) expect(judged({ ...example, now: instant(example.now + off) })).toEqual(stale);
  });
});

test('a tolerance is a setting', () => {
  const provider = providerOf({ scheme: 'standard-webhooks', toleranceSeconds: 10 });
  expect(judged({ ...standard, provider, now: instant(standard.now + 11_000) })).toEqual(stale);
});

describe('Standard Webhooks', () => {
  const signature = standard.received.headers['webhook-signature'];
  const withSignature = (value: string) =>
    judged({
      ...standard,
      received: { ...standard.received, headers: { ...standard.received.headers, 'webhook-signature': value } },
    });

  test('one of several signatures is enough, and other versions do not count', () => {
    expect(withSignature(`v1,${'A'.repeat(43)}= v1a,xyz ${signature}`).kind).toBe('verified');
    expect(withSignature(signature.replace('v1,', 'v1a,'))).toEqual(mismatch);
    expect(withSignature(signature.slice('v1,'.length))).toEqual(mismatch);
    expect(withSignature('')).toEqual(mismatch);
  });

  test('an empty secret verifies nothing', () => {
    const { 'webhook-id': id, 'webhook-timestamp': at } = standard.received.headers;
    expect(judged(standard, ['whsec_', ''])).toEqual(mismatch);
    const forged = createHmac('sha256', '').update(`${id}.${at}.{"test": 2432232314}`).digest('base64');
    const headers = { ...standard.received.headers, 'webhook-signature': `v1,${forged}` };
    expect(judged({ ...standard, received: { ...standard.received, headers } }, ['whsec_'])).toEqual(mismatch);
  });

  test.each(['1614265330.0', '01614265330', ' 1614265330', '-1', '1e9', ''])('%j is not a valid time', (value) => {
    const headers = { ...standard.received.headers, 'webhook-timestamp': value };
    expect(judged({ ...standard, received: { ...standard.received, headers } })).toEqual(incomplete);
  });
});

describe('Stripe', () => {
  test('one of several signatures is enough', () => {
    const header = stripe.received.headers['stripe-signature'] ?? '';
    const headers = { 'stripe-signature': header.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`) };
    expect(judged({ ...stripe, received: { ...stripe.received, headers } }).kind).toBe('verified');
  });

  test('a header with two times is refused', () => {
    const headers = { 'stripe-signature': `t=1,${stripe.received.headers['stripe-signature']}` };
    expect(judged({ ...stripe, received: { ...stripe.received, headers } })).toEqual(incomplete);
  });

  test.each(['{"object":"event"}', '[]', 'null', '{"id":7}', '{"id":""}', '{'])(
    'an event without an id is refused: %s',
    (body) => {
      expect(judged({ ...stripe, received: stripeOf(body, 1_492_774_577) })).toEqual(incomplete);
    },
  );
});

describe('a plain HMAC', () => {
  const signed = (headers: Record<string, string>, settings: object) =>
    judged({
      ...plain,
      provider: providerOf({ scheme: 'hmac-sha256', ...settings }),
      received: { headers, body: text('a body') },
    });

  test('may be hexadecimal in either case, after a prefix', () => {
    const settings = { header: 'x-hub', encoding: 'hex', prefix: 'sha256=' };
    const hex = hmac('a secret', 'a body');
    for (const value of [hex, hex.toUpperCase()]) expect(signed({ 'x-hub': `sha256=${value}` }, settings).kind).toBe('verified');
    expect(signed({ 'x-hub': hex }, settings)).toEqual(incomplete);
  });

  test('without a header for ids equal bodies are one delivery', () => {
    const settings = { header: 'x-signature', encoding: 'base64' };
    const headers = { 'x-signature': hmac('a secret', 'a body', 'base64') };
    expect(signed(headers, settings)).toEqual(signed({ ...headers, 'x-request-id': 'other' }, settings));
  });
});
