/**
 * An identity provider over HTTP: discovery, the exchange of a code, and the verification of the id token.
 * (OpenID Connect Core 1.0, section 3.1; OpenID Connect Discovery 1.0; RFC 7636; RFC 6749, section 4.1.3)
 */
import { type JWTVerifyGetKey, createRemoteJWKSet, errors, jwtVerify } from 'jose';
import * as z from 'zod';
import { type JsonValue, isJsonObject } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { IdentityProvider, ProviderAnswer, RedeemedCode } from '../ports/identity-provider.ts';
import { Unavailable } from '../ports/unavailable.ts';

export interface OidcClient {
  readonly issuer: string;
  readonly clientId: string;
  /** undefined: a public client */
  readonly clientSecret?: () => Promise<string>;
  readonly now: () => Instant;
}

/** Signatures by a private key of the provider only. HMAC would make the public key a secret, and `none` signs nothing. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** A token is made for this exchange. An older one was made for another. */
const maxTokenAgeSeconds = 600;
/** How far the clocks of the provider and of this function may differ. */
const clockToleranceSeconds = 30;
const timeoutMs = 8_000;
/** Providers change their endpoints rarely. */
const metadataTtlMs = 3_600_000;

const httpAddress = z.url({ protocol: /^https?$/ });
const metadataShape = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: httpAddress,
  token_endpoint: httpAddress,
  jwks_uri: httpAddress,
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
});
type Metadata = z.output<typeof metadataShape>;

const tokenShape = z.looseObject({ id_token: z.string().max(65_536) });
const tokenErrorShape = z.looseObject({ error: z.string() });

const providerName = 'the identity provider';
const unavailable = (cause: unknown): Unavailable => new Unavailable(providerName, { cause });

export class OidcProvider implements IdentityProvider {
  readonly #client: OidcClient;
  #metadata: { readonly value: Metadata; readonly keys: JWTVerifyGetKey; readonly readAt: Instant } | undefined;

  constructor(client: OidcClient) {
    this.#client = client;
  }

  async authorizationEndpoint(): Promise<string> {
    return (await this.#discovered()).value.authorization_endpoint;
  }

  async redeem(answer: ProviderAnswer): Promise<RedeemedCode> {
    const { value, keys } = await this.#discovered();
    const response = await send(value.token_endpoint, await this.#tokenRequest(value, answer));
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok) {
      // The provider's words about the code or the client. Anything else is a failure of the provider.
      const refusal = response.status >= 400 && response.status < 500 ? tokenErrorShape.safeParse(body).data : undefined;
      if (refusal === undefined) throw unavailable(new Error(`the token endpoint responded with status ${response.status}`));
      return refused(refusal.error === 'invalid_grant' ? 'code_refused' : 'client_refused');
    }
    const token = tokenShape.safeParse(body).data?.id_token;
    return token === undefined ? refused('no_id_token') : this.#verify(token, keys, answer.nonce);
  }

  async #verify(token: string, keys: JWTVerifyGetKey, nonce: string): Promise<RedeemedCode> {
    const { issuer, clientId, now } = this.#client;
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms,
        issuer,
        audience: clientId,
        maxTokenAge: maxTokenAgeSeconds,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(now()),
        requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
      });
      if (payload['nonce'] !== nonce) return refused('token_nonce');
      // Issued to another client, which was allowed to name this one as an audience too. (Section 3.1.3.7, rules 4 and 5)
      const isForSeveral = Array.isArray(payload.aud) && payload.aud.length > 1;
      if ((payload['azp'] ?? (isForSeveral ? undefined : clientId)) !== clientId) return refused('token_azp');
      const claims: JsonValue = JSON.parse(JSON.stringify(payload));
      return isJsonObject(claims) ? { kind: 'verified', claims } : refused('token_malformed');
    } catch (error) {
      const why = whyRefused(error);
      if (why === undefined) throw unavailable(error);
      return refused(why);
    }
  }

  async #discovered() {
    const { issuer, now } = this.#client;
    if (this.#metadata !== undefined && now() - this.#metadata.readAt < metadataTtlMs) return this.#metadata;
    const response = await send(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (!response.ok) throw unavailable(new Error(`the discovery document has status ${response.status}`));
    const parsed = metadataShape.safeParse(await response.json().catch(() => undefined));
    if (!parsed.success) throw unavailable(parsed.error);
    const { data: value } = parsed;
    // Otherwise another provider could take part in the sign-in. (Discovery, section 4.3)
    if (value.issuer !== issuer) throw unavailable(new Error('the discovery document names another issuer'));
    for (const address of [value.authorization_endpoint, value.token_endpoint, value.jwks_uri]) {
      if (issuer.startsWith('https:') && !address.startsWith('https:'))
        throw unavailable(new Error('the discovery document names an address without TLS'));
    }
    const keys = createRemoteJWKSet(new URL(value.jwks_uri), { timeoutDuration: timeoutMs });
    this.#metadata = { value, keys, readAt: now() };
    return this.#metadata;
  }

  async #tokenRequest(metadata: Metadata, { code, verifier, redirectUri }: ProviderAnswer): Promise<RequestInit> {
    const { clientId, clientSecret } = this.#client;
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
      client_id: clientId,
    });
    const secret = await clientSecret?.();
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (secret !== undefined) {
      if (metadata.token_endpoint_auth_methods_supported.includes('client_secret_basic'))
        headers['Authorization'] = `Basic ${btoa([clientId, secret].map(formEncoded).join(':'))}`;
      else form.set('client_secret', secret);
    }
    return { method: 'POST', headers, body: form };
  }
}

const refused = (why: string): RedeemedCode => ({ kind: 'refused', why });

/** RFC 6749, appendix B. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

/** A redirect of these addresses would send the code or the client's secret elsewhere. */
async function send(address: string, request: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(address, { ...request, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    throw unavailable(error);
  }
}

/** What is wrong with the token. Undefined: the provider's keys could not be read, so nothing is known about the token. */
function whyRefused(error: unknown): string | undefined {
  if (error instanceof errors.JWTExpired) return `token_${error.claim === 'iat' ? 'old' : 'expired'}`;
  if (error instanceof errors.JWTClaimValidationFailed) return `token_${error.claim}`;
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) return 'token_algorithm';
  if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey)
    return 'token_signature';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'token_key';
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return 'token_malformed';
  return undefined;
}
