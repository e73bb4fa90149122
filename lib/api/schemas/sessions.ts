/** Schemas of links that sign in, and of sessions. */
import * as z from 'zod';
import { keyScopes } from '../../ports/control.ts';
import { utcTimestamp } from './parts.ts';

export const exchangeLinkBody = z
  .strictObject({ link: z.string().min(1).max(128).meta({ description: 'the text of a link, `sl_…`' }) })
  .meta({ id: 'ExchangeLink' });

export const createSessionBody = z
  .strictObject({ key: z.string().min(1).max(512).meta({ description: 'an API key; it is neither stored nor logged' }) })
  .meta({ id: 'CreateSession' });

/** https://www.rfc-editor.org/rfc/rfc7636#section-4.1 */
const verifier = z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/, 'must be a PKCE verifier of 43 to 128 characters');

export const providerAnswer = z
  .strictObject({
    code: z
      .string()
      .min(1)
      .max(4_096)
      .meta({ description: 'the code of the authorization response; it is neither stored nor logged' }),
    verifier: verifier.meta({ description: 'the PKCE verifier whose digest was in the authorization request' }),
    nonce: z
      .string()
      .regex(/^[A-Za-z0-9_-]{22,128}$/, 'must be 22 to 128 letters, digits, _ or -')
      .meta({ description: 'the nonce of the authorization request' }),
    redirectUri: z
      .url({ protocol: /^https?$/ })
      .max(2_048)
      .refine((text) => text.endsWith('/console/oidc'), 'must be the page /console/oidc')
      .meta({ description: 'the address of the authorization request; the provider compares it' }),
  })
  .meta({ id: 'ProviderAnswer' });

export const signInProviderResponse = z
  .strictObject({
    provider: z
      .strictObject({ authorizationEndpoint: z.string(), clientId: z.string(), scope: z.string() })
      .nullable()
      .meta({ description: 'null: the setting `console` names no identity provider' }),
  })
  .meta({ id: 'SignInProvider' });

export const raiseSessionBody = z
  .strictObject({
    key: z.string().min(1).max(512).exactOptional().meta({ description: 'an API key with `admin`' }),
    link: z.string().min(1).max(128).exactOptional().meta({ description: 'a new link of a key with `admin`' }),
    provider: providerAnswer.exactOptional().meta({ description: 'a new sign-in of the same person, requested with max_age=0' }),
  })
  .refine((body) => Object.keys(body).length === 1, 'must have exactly one of key, link and provider')
  .meta({ id: 'RaiseSession' });

export const linkResponse = z
  .strictObject({
    link: z.string().meta({ description: 'signs one browser in, once; only this response contains it' }),
    expiresAt: utcTimestamp,
  })
  .meta({ id: 'SessionLink' });

export const sessionResponse = z
  .strictObject({
    id: z.string().meta({ description: 'names the session in the audit trail; it is no secret' }),
    subject: z
      .string()
      .meta({ description: 'who signed in: `key:` and the id of the key, or `oidc:` and the name of the person' }),
    keyId: z.string(),
    projectId: z.string(),
    environment: z.string(),
    scopes: z.array(z.enum(keyScopes)).readonly(),
    expiresAt: utcTimestamp,
    idleExpiresAt: utcTimestamp.meta({ description: 'when it ends if it is not used again' }),
    raisedUntil: utcTimestamp.exactOptional().meta({ description: 'until when it has the scope `admin`' }),
  })
  .meta({ id: 'Session' });

export const endedSessionResponse = z.strictObject({
  signedOut: z.boolean().meta({ description: 'false: the browser had no session' }),
});
