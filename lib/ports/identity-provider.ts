/** The port of an identity provider (OpenID Connect), with which people sign in to the console. */
import type { JsonObject } from '../engine/json.ts';

/** What the browser brings back from the provider, with what it kept meanwhile. */
export interface ProviderAnswer {
  /** of the authorization response; the provider accepts it once */
  readonly code: string;
  /** the PKCE verifier whose digest began the sign-in (RFC 7636) */
  readonly verifier: string;
  /** the nonce that began the sign-in */
  readonly nonce: string;
  /** the address that the provider sent the browser to; the provider compares it */
  readonly redirectUri: string;
}

export type RedeemedCode =
  /** the claims of an id token whose signature, issuer, audience, nonce and times are valid */
  { readonly kind: 'verified'; readonly claims: JsonObject } | { readonly kind: 'refused'; readonly why: string };

export interface IdentityProvider {
  /** The address at which a sign-in begins. @throws Unavailable */
  authorizationEndpoint(): Promise<string>;
  /** Exchanges the code for an id token, and verifies it. @throws Unavailable */
  redeem(answer: ProviderAnswer): Promise<RedeemedCode>;
}
