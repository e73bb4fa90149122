/** People sign in with an identity provider. Each fault of its token, and each wrong answer of the browser, is refused and audited. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { after, instant, iso, minutes } from '../../lib/engine/time.ts';
import { OidcProvider } from '../../lib/oidc/provider.ts';
import type { ApiKey, KeyScope } from '../../lib/ports/control.ts';
import type { SignInRules } from '../../lib/service/access/provider-sign-in.ts';
import { type Fault, type Person, type TestProvider, startProvider } from '../oidc/provider.ts';
import { type Answered, type Http, http, textIn } from './http.ts';

const samePage = { Host: 'api.example.com', 'Sec-Fetch-Site': 'same-origin' };
const redirectUri = 'https://api.example.com/prod/console/oidc';
const begun = { verifier: 'v'.repeat(43), nonce: 'n'.repeat(22), redirectUri };
const platform = keyId('platformteam');

let idp: TestProvider;
beforeAll(async () => {
  idp = await startProvider();
});
afterAll(() => idp.stop());
const ada: Person = { sub: 'ada', groups: ['guests', 'platform'] };
afterEach(() => {
  idp.fault = {};
  idp.person = ada;
});

interface SetUp {
  readonly scopes?: readonly KeyScope[];
  readonly rules?: Partial<SignInRules>;
  readonly key?: Partial<ApiKey>;
  readonly issuer?: string;
}

async function signInApi({ scopes = ['admin'], rules = {}, key = {}, issuer = idp.issuer }: SetUp = {}): Promise<Http> {
  const made: { api?: Http } = {};
  const provider = new OidcProvider({
    issuer,
    clientId: idp.clientId,
    now: () => (made.api ?? api).world.clock.now(),
  });
  const api = http(() => ({}), undefined, [], true, {
    provider,
    clientId: idp.clientId,
    scope: 'openid email',
    rules: { claim: 'groups', subjectClaim: 'sub', grants: [{ value: 'platform', keyId: platform }], ...rules },
  });
  made.api = api;
  idp.now = () => Math.floor(api.world.clock.now() / 1_000);
  await api.world.keys.putKey({
    keyId: platform,
    projectId: projectId('acme'),
    environment: environment('test'),
    scopes,
    secretHash: '0'.repeat(64),
    createdAt: api.world.clock.now(),
    ...key,
  });
  return api;
}

const answer = (api: Http, body: object, headers: Readonly<Record<string, string>> = samePage): Promise<Answered> =>
  api.call('POST', '/v1/sessions/provider', { body, headers });
const withCode = (change: object = {}) => ({ ...begun, code: idp.codeFor(begun), ...change });
const outcome = ({ status, body }: Answered) => [status, body['code'] ?? ''] as const;
const lastEntry = (api: Http) => [...api.world.audit.entries.values()].at(-1);
const cookieOf = ({ headers }: Answered): string => (headers['set-cookie'] ?? '').split(';')[0] ?? '';

describe('a sign-in', () => {
  test('gives a session with the scopes of the grant, in the name of the person, and an audit entry', async () => {
    const api = await signInApi({ scopes: ['runs:read', 'workflows:read'] });
    const signedIn = await answer(api, withCode());
    expect(signedIn.status, JSON.stringify(signedIn.body)).toBe(201);
    expect(signedIn.headers['set-cookie']).toMatch(
      /^__Host-stepwell=ss_[^;]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(signedIn.body).toMatchObject({ subject: 'oidc:ada', keyId: platform, scopes: ['runs:read', 'workflows:read'] });
    expect(lastEntry(api)).toMatchObject({
      action: 'sessions.create',
      keyId: platform,
      session: { subject: 'oidc:ada' },
      metadata: { signedInBy: 'provider', status: 201 },
    });
    const list = async (subject: string) =>
      (await api.call('GET', '/v1/audit', { key: await api.key(['admin']), query: { subject } })).body['data'];
    expect(await list('oidc:ada')).toMatchObject([{ action: 'sessions.create', session: { subject: 'oidc:ada' } }]);
    expect(await list('oidc:bob')).toEqual([]);
    const runs = await api.call('GET', '/v1/runs', { headers: { ...samePage, Cookie: cookieOf(signedIn) } });
    expect(runs.status).toBe(200);
  });

  test('the page learns where to begin, and nothing of the grants', async () => {
    const api = await signInApi();
    const { status, body } = await api.call('GET', '/v1/sessions/provider');
    expect([status, body]).toEqual([
      200,
      { provider: { authorizationEndpoint: `${idp.issuer}/authorize`, clientId: idp.clientId, scope: 'openid email' } },
    ]);
    expect((await http().call('GET', '/v1/sessions/provider')).body).toEqual({ provider: null });
  });

  test('ends with the key of its grant', async () => {
    const api = await signInApi();
    const Cookie = cookieOf(await answer(api, withCode()));
    await api.world.keys.revokeKey(
      { projectId: projectId('acme'), environment: environment('test') },
      platform,
      api.world.clock.now(),
    );
    api.world.clock.advance(minutes(1));
    expect(outcome(await api.call('GET', '/v1/runs', { headers: { ...samePage, Cookie } }))).toEqual([401, 'session_invalid']);
    expect(outcome(await answer(api, withCode()))).toEqual([403, 'not_granted']);
  });

  test('no request can present the key of a grant', async () => {
    const api = await signInApi();
    const text = await api.key(['admin']);
    const forged = text.replace(/_[0-9A-Za-z]{8,32}_/, `_${platform}_`);
    expect(outcome(await api.call('GET', '/v1/runs', { key: forged }))).toEqual([401, 'unauthorized']);
  });

  test('documents and keys are read once for many sign-ins', async () => {
    const api = await signInApi();
    const before = [idp.asked.get('/.well-known/openid-configuration') ?? 0, idp.asked.get('/keys') ?? 0];
    for (let count = 0; count < 5; count += 1) expect((await answer(api, withCode())).status).toBe(201);
    expect([idp.asked.get('/.well-known/openid-configuration'), idp.asked.get('/keys')]).toEqual(
      before.map((count) => count + 1),
    );
  });

  test('a confidential client sends its secret, and a wrong secret signs nobody in', async () => {
    const secret = 's3cret & more';
    const confidential = await startProvider(secret);
    const { issuer, clientId } = confidential;
    const now = () => instant(confidential.now() * 1_000);
    const redeem = (sent: string) =>
      new OidcProvider({ issuer, clientId, now, clientSecret: async () => sent }).redeem({
        ...begun,
        code: confidential.codeFor(begun),
      });
    expect(await redeem(secret)).toMatchObject({ kind: 'verified', claims: { sub: 'ada' } });
    expect(await redeem('other')).toEqual({ kind: 'refused', why: 'client_refused' });
    await confidential.stop();
  });
});

describe('a token is refused', () => {
  const faults: readonly (readonly [string, Fault, string])[] = [
    ['of another issuer', { claims: { iss: 'https://evil.example.com' } }, 'token_iss'],
    ['for another audience', { claims: { aud: 'another-client' } }, 'token_aud'],
    ['for several audiences, without a party', { claims: { aud: ['stepwell-console', 'other'] } }, 'token_azp'],
    ['that another client got', { claims: { azp: 'another-client' } }, 'token_azp'],
    ['with another nonce', { claims: { nonce: 'x'.repeat(22) } }, 'token_nonce'],
    ['without a nonce', { claims: { nonce: undefined } }, 'token_nonce'],
    ['that has expired', { clockOffset: -400 }, 'token_expired'],
    ['that is old, with a long life', { claims: { exp: 4_102_444_800 }, clockOffset: -700 }, 'token_old'],
    ['of the future', { clockOffset: 120 }, 'token_iat'],
    ['without an expiry', { claims: { exp: undefined } }, 'token_exp'],
    ['without a subject', { claims: { sub: undefined } }, 'token_sub'],
    ['without a signature (alg none)', { signature: 'none' }, 'token_algorithm'],
    ['signed by HS256 with the public key', { signature: 'hmac' }, 'token_algorithm'],
    ['signed by another key', { signature: 'another key' }, 'token_signature'],
    ['that the provider did not send', { withoutToken: true }, 'no_id_token'],
  ];
  test.each(faults)('%s', async (_what, fault, why) => {
    const api = await signInApi();
    idp.fault = fault;
    const refused = await answer(api, withCode());
    expect(outcome(refused)).toEqual([401, 'sign_in_refused']);
    expect(refused.headers['set-cookie']).toBeUndefined();
    expect(lastEntry(api)).toMatchObject({ action: 'auth.failure', metadata: { why } });
    idp.fault = {};
    expect((await answer(api, withCode())).status).toBe(201);
  });
});

describe('an answer of the browser is refused', () => {
  const why = async (api: Http, body: object) => [...outcome(await answer(api, body)), lastEntry(api)?.metadata['why']];

  test('with a code that was used', async () => {
    const api = await signInApi();
    const body = withCode();
    expect((await answer(api, body)).status).toBe(201);
    expect(await why(api, body)).toEqual([401, 'sign_in_refused', 'code_refused']);
  });

  test('with another verifier: a stolen code is worth nothing', async () => {
    expect(await why(await signInApi(), withCode({ verifier: 'w'.repeat(43) }))).toEqual([
      401,
      'sign_in_refused',
      'code_refused',
    ]);
  });

  test('with the nonce of another sign-in', async () => {
    expect(await why(await signInApi(), withCode({ nonce: 'm'.repeat(22) }))).toEqual([401, 'sign_in_refused', 'token_nonce']);
  });

  test('from a page of another site, before the code is sent anywhere', async () => {
    const api = await signInApi();
    const body = withCode();
    const before = idp.asked.get('/token');
    const foreign = { ...samePage, 'Sec-Fetch-Site': 'cross-site' };
    expect(outcome(await answer(api, body, foreign))).toEqual([403, 'cross_origin']);
    expect(idp.asked.get('/token')).toBe(before);
    expect((await answer(api, body)).status).toBe(201);
  });

  test.each([
    ['a short verifier', { verifier: 'v' }],
    ['an address that is not the page', { redirectUri: 'https://evil.example.com/' }],
    ['a long code', { code: 'x'.repeat(5_000) }],
    ['more', { issuer: 'https://evil.example.com' }],
  ])('with %s', async (_what, change) => {
    expect(outcome(await answer(await signInApi(), { ...withCode(), ...change }))).toEqual([400, 'invalid_request']);
  });

  test('where no provider is configured', async () => {
    expect(await why(http(), { ...begun, code: 'c' })).toEqual([401, 'sign_in_refused', 'no_provider']);
  });
});

describe('a person', () => {
  const signIn = async (person: Person, setUp: SetUp = {}) => {
    const api = await signInApi(setUp);
    idp.person = person;
    const got = await answer(api, withCode());
    return { got, entry: lastEntry(api) };
  };

  test.each([
    ['whose claim maps to no scope', { sub: 'eve', groups: ['guests'] }],
    ['whose claim contains the value', { sub: 'eve', groups: ['platform-guests', 'PLATFORM', ' platform'] }],
    ['whose claim is an object', { sub: 'eve', groups: { platform: true } }],
    ['without the claim', { sub: 'eve' }],
  ])('%s gets no session, and the entry names the person', async (_what, person) => {
    const { got, entry } = await signIn(person);
    expect(outcome(got)).toEqual([403, 'not_granted']);
    expect(entry).toMatchObject({ action: 'auth.failure', metadata: { why: 'claim_not_granted', subject: 'oidc:eve' } });
  });

  test('with an address that is not verified gets no session', async () => {
    const rules = { claim: 'email', grants: [{ value: 'ada@example.com', keyId: platform }] };
    const email = 'ada@example.com';
    expect(outcome((await signIn({ sub: 'eve', email }, { rules })).got)).toEqual([401, 'sign_in_refused']);
    expect(outcome((await signIn({ sub: 'eve', email, email_verified: 'true' }, { rules })).got)).toEqual([
      401,
      'sign_in_refused',
    ]);
    expect((await signIn({ sub: 'ada', email, email_verified: true }, { rules })).got.status).toBe(201);
  });

  test.each(['key:0123456789', 'a\u202eb', 'a b', '', 'x'.repeat(300)])(
    'cannot take the name %j of somebody else',
    async (sub) => {
      const { got } = await signIn({ sub, groups: ['platform'] });
      if (got.status === 201) expect(got.body['subject']).toBe(`oidc:${sub}`);
      else expect(outcome(got)).toEqual([401, 'sign_in_refused']);
    },
  );

  test('of two groups has the rights of the first grant', async () => {
    const grants = [
      { value: 'guests', keyId: keyId('nosuchkey1') },
      { value: 'platform', keyId: platform },
    ];
    expect(outcome((await signIn(ada, { rules: { grants } })).got)).toEqual([403, 'not_granted']);
    expect((await signIn(ada, { rules: { grants: grants.toReversed() } })).got.status).toBe(201);
  });
});

describe('a provider that does not work', () => {
  test('is unavailable, and the person may try again', async () => {
    const api = await signInApi();
    idp.fault = { status: 503 };
    expect(outcome(await answer(api, withCode()))).toEqual([503, 'unavailable']);
    const gone = await signInApi({ issuer: 'http://127.0.0.1:9' });
    expect(outcome(await answer(gone, withCode()))).toEqual([503, 'unavailable']);
    expect(outcome(await gone.call('GET', '/v1/sessions/provider'))).toEqual([503, 'unavailable']);
  });

  test('that names another issuer in its document is not used', async () => {
    const api = await signInApi({ issuer: `${idp.issuer}/` });
    expect(outcome(await api.call('GET', '/v1/sessions/provider'))).toEqual([503, 'unavailable']);
  });
});

describe('admin, for a quarter of an hour', () => {
  const signedIn = async (setUp: SetUp = {}) => {
    const api = await signInApi(setUp);
    const Cookie = cookieOf(await answer(api, withCode()));
    const ask = (method: string, path: string, body?: unknown) =>
      api.call(method, path, { headers: { ...samePage, Cookie }, ...(body === undefined ? {} : { body }) });
    return { api, ask };
  };

  test('a fresh sign-in of the same person raises the session', async () => {
    const { api, ask } = await signedIn();
    expect(outcome(await ask('GET', '/v1/keys'))).toEqual([403, 'missing_scope']);
    const raised = await ask('POST', '/v1/session/admin', { provider: withCode() });
    expect(raised.body).toMatchObject({ raisedUntil: iso(after(api.world.clock.now(), minutes(15))) });
    expect((await ask('GET', '/v1/keys')).status).toBe(200);
    expect(lastEntry(api)).toMatchObject({
      action: 'sessions.raise',
      session: { subject: 'oidc:ada' },
      metadata: { by: 'provider' },
    });
  });

  test('a sign-in that the provider remembered, one of another person, and a grant without admin do not', async () => {
    const { api, ask } = await signedIn();
    const why = async () => [
      outcome(await ask('POST', '/v1/session/admin', { provider: withCode() })),
      lastEntry(api)?.metadata['why'],
    ];
    idp.fault = { claims: { auth_time: idp.now() - 301 } };
    expect(await why()).toEqual([[401, 'sign_in_refused'], 'sign_in_not_fresh']);
    idp.fault = { claims: { auth_time: undefined } };
    expect(await why()).toEqual([[401, 'sign_in_refused'], 'sign_in_not_fresh']);
    idp.fault = {};
    idp.person = { ...ada, sub: 'bob' };
    expect(await why()).toEqual([[401, 'sign_in_refused'], 'sign_in_of_another_person']);
    idp.person = ada;
    const weak = await signedIn({ scopes: ['runs:read'] });
    expect(outcome(await weak.ask('POST', '/v1/session/admin', { provider: withCode() }))).toEqual([403, 'missing_scope']);
    expect(outcome(await weak.ask('GET', '/v1/keys'))).toEqual([403, 'missing_scope']);
  });

  test('a key of the same project raises it, and one of another project does not', async () => {
    const { api, ask } = await signedIn({ scopes: ['runs:read'] });
    const foreign = await api.key(['admin'], { project: 'other' });
    expect(outcome(await ask('POST', '/v1/session/admin', { key: foreign }))).toEqual([403, 'foreign_project']);
    const own = await api.key(['admin']);
    expect((await ask('POST', '/v1/session/admin', { key: own })).status).toBe(200);
    const created = await ask('POST', '/v1/keys', { scopes: ['runs:read'] });
    expect(created.status).toBe(201);
    expect(textIn(created, 'key')).toMatch(/^sw_test_/);
    expect(lastEntry(api)).toMatchObject({ action: 'keys.create', session: { subject: 'oidc:ada' } });
  });
});
