/** A small identity provider (OpenID Connect) on one's own machine: discovery, a sign-in page, codes with PKCE, signed tokens, keys. */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { type JWTPayload, SignJWT, exportJWK, exportSPKI, generateKeyPair } from 'jose';
import * as z from 'zod';

export interface Person {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

/** What the provider does wrong, for one token. */
export interface Fault {
  /** replaces claims; undefined removes one */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** how the token is signed. `hmac`: HS256, with the provider's public key as the secret */
  readonly signature?: 'none' | 'hmac' | 'another key';
  /** the seconds by which the clock of the provider is wrong */
  readonly clockOffset?: number;
  /** the answer of the token endpoint */
  readonly status?: number;
  readonly withoutToken?: boolean;
}

export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** who signs in next */
  person: Person;
  fault: Fault;
  /** seconds since 1970 */
  now: () => number;
  /** A code, as the sign-in page would send it back. */
  codeFor(request: { readonly verifier: string; readonly nonce: string; readonly redirectUri: string }): string;
  /** how often each path was asked for */
  readonly asked: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

const query = z.object({
  client_id: z.string(),
  redirect_uri: z.string(),
  state: z.string(),
  nonce: z.string(),
  code_challenge: z.string(),
  code_challenge_method: z.literal('S256'),
  response_type: z.literal('code'),
});

interface Issued {
  readonly challenge: string;
  readonly nonce: string;
  readonly redirectUri: string;
  readonly person: Person;
}

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

async function bodyOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

const json = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

/** Both parts are form-encoded before base64 (RFC 6749, section 2.3.1). */
const credentialsIn = (authorization = ''): string =>
  Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
    .toString()
    .split(':')
    .map((part) => new URLSearchParams(`a=${part}`).get('a'))
    .join(':');

/** @param clientSecret of a confidential client; absent: a public one */
export async function startProvider(clientSecret?: string): Promise<TestProvider> {
  const [own, another] = await Promise.all([generateKeyPair('RS256', { extractable: true }), generateKeyPair('RS256')]);
  const publicKey = await exportJWK(own.publicKey);
  const publicText = Buffer.from(await exportSPKI(own.publicKey));
  const codes = new Map<string, Issued>();
  const asked = new Map<string, number>();
  const clientId = 'stepwell-console';

  const issue = (issued: Issued): string => {
    const code = randomUUID();
    codes.set(code, issued);
    return code;
  };

  const sign = async ({ signature }: Fault, claims: JWTPayload): Promise<string> => {
    if (signature === 'none') return `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
    if (signature === 'hmac') return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(publicText);
    const key = signature === 'another key' ? another.privateKey : own.privateKey;
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key);
  };

  /** Each code works once, for the client, the address and the verifier that began it. */
  const token = async (form: URLSearchParams, authorization: string | undefined): Promise<{ status: number; body: object }> => {
    const isClient =
      clientSecret === undefined
        ? form.get('client_id') === clientId
        : credentialsIn(authorization) === `${clientId}:${clientSecret}`;
    if (!isClient) return { status: 401, body: { error: 'invalid_client' } };
    const code = form.get('code') ?? '';
    const issued = codes.get(code);
    codes.delete(code);
    if (
      issued === undefined ||
      challengeOf(form.get('code_verifier') ?? '') !== issued.challenge ||
      form.get('redirect_uri') !== issued.redirectUri
    )
      return { status: 400, body: { error: 'invalid_grant' } };
    const { fault } = provider;
    if (fault.status !== undefined) return { status: fault.status, body: {} };
    const at = provider.now() + (fault.clockOffset ?? 0);
    const claims = {
      iss: provider.issuer,
      aud: clientId,
      iat: at,
      auth_time: at,
      exp: at + 300,
      nonce: issued.nonce,
      ...issued.person,
      ...fault.claims,
    };
    return {
      status: 200,
      body: fault.withoutToken === true ? {} : { id_token: await sign(fault, claims), token_type: 'Bearer' },
    };
  };

  const authorize = (url: URL, response: ServerResponse): void => {
    const asked = query.parse(Object.fromEntries(url.searchParams));
    const { nonce, redirect_uri: redirectUri, code_challenge: challenge, state } = asked;
    if (asked.client_id !== clientId) return json(response, 400, { error: 'unauthorized_client' });
    const target = new URL(redirectUri);
    target.searchParams.set('code', issue({ challenge, nonce, redirectUri, person: provider.person }));
    target.searchParams.set('state', state);
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        `<title>Provider</title><h1>Sign in to the provider</h1><a href="${target.href.replaceAll('&', '&amp;')}">Continue as ${provider.person.sub}</a>`,
      );
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', provider.issuer);
    asked.set(url.pathname, (asked.get(url.pathname) ?? 0) + 1);
    void (async () => {
      if (url.pathname === '/.well-known/openid-configuration')
        return json(response, 200, {
          issuer: provider.issuer,
          authorization_endpoint: `${provider.issuer}/authorize`,
          token_endpoint: `${provider.issuer}/token`,
          jwks_uri: `${provider.issuer}/keys`,
        });
      if (url.pathname === '/keys') return json(response, 200, { keys: [{ ...publicKey, kid: 'one', use: 'sig' }] });
      if (url.pathname === '/authorize') return authorize(url, response);
      if (url.pathname !== '/token') return json(response, 404, {});
      const { status, body } = await token(await bodyOf(request), request.headers.authorization);
      return json(response, status, body);
    })().catch((error: unknown) => json(response, 500, { error: String(error) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const provider: TestProvider = {
    issuer: `http://127.0.0.1:${port}`,
    clientId,
    person: { sub: 'ada', groups: ['platform'] },
    fault: {},
    now: () => Math.floor(Date.now() / 1_000),
    codeFor: ({ verifier, nonce, redirectUri }) =>
      issue({ challenge: challengeOf(verifier), nonce, redirectUri, person: provider.person }),
    asked,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return provider;
}
