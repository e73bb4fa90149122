/**
 * The setting `console`: how people sign in to the console with an identity provider (OpenID Connect). Synthesis and the function read it.
 * It names a secret, and contains none.
 */
import * as z from 'zod';
import { secretArnMessage, secretArnPattern } from '../../contract/secret-arn.ts';
import { environmentPattern, keyIdPattern, projectIdPattern } from '../../engine/ids.ts';
import { keyScopes } from '../../ports/control.ts';

const issuer = z
  .url({ protocol: /^https?$/, error: 'must be a complete address' })
  .max(500)
  .refine((text) => !/[?#@]/.test(text), 'must contain no query, fragment or user')
  .refine(
    (text) => text.startsWith('https:') || isLocalIssuer(text),
    'must begin with https:// (http:// is allowed only for localhost and 127.0.0.1)',
  );

/** A provider on the owner's own machine: for the embedded cloud, because in Lambda the loopback address is the interface of the runtime. */
export const isLocalIssuer = (text: string): boolean => ['localhost', '127.0.0.1'].includes(URL.parse(text)?.hostname ?? '');

const claimName = z.string().regex(/^[\x21-\x7e]{1,100}$/, 'must be the name of a claim');

/** `admin` takes a further sign-in, for a quarter of an hour. `world:proxy` is for deployed code. */
const grantedScopes = z
  .array(z.enum(keyScopes).exclude(['world:proxy']))
  .min(1)
  .refine(
    (scopes) => scopes.includes('runs:read') || scopes.includes('admin'),
    'must contain runs:read or admin: no page of the console works without it',
  );

const grant = z.strictObject({
  /** a value of the claim, or one of its values where it is a list; compared as text */
  value: z.string().min(1).max(500),
  /** names the rights in the list of keys and in the audit trail. A deployment registers the key, which has no secret. */
  keyId: z.string().regex(keyIdPattern),
  projectId: z.string().regex(projectIdPattern).default('default'),
  environment: z.string().regex(environmentPattern).default('production'),
  scopes: grantedScopes,
});

export const maxSignInGrants = 20;

const isDistinct = (values: readonly string[]): boolean => new Set(values).size === values.length;

const oidcSetting = z.strictObject({
  /** as the provider's discovery document names it */
  issuer,
  clientId: z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be the id of a client'),
  /** of a confidential client; a public client has none */
  clientSecretArn: z.string().regex(secretArnPattern, secretArnMessage).exactOptional(),
  /** requested from the provider */
  scope: z
    .string()
    .regex(/^openid( [\x21-\x7e]+)*$/, 'must begin with openid')
    .max(500)
    .default('openid email profile'),
  /** the claim of the id token that decides */
  claim: claimName.default('groups'),
  /** the claim that names a person in the audit trail */
  subjectClaim: claimName.default('sub'),
  /** the first one whose value the claim has applies */
  grants: z
    .array(grant)
    .min(1)
    .max(maxSignInGrants)
    .refine((grants) => isDistinct(grants.map(({ keyId }) => keyId)), 'must contain each keyId once')
    .refine((grants) => isDistinct(grants.map(({ value }) => value)), 'must contain each value once'),
});
export type OidcSetting = z.output<typeof oidcSetting>;

export const consoleSetting = z.strictObject({ oidc: oidcSetting.exactOptional() });

/** For the custom resource: the keys that a deployment registers, without a secret. */
export const signInKeys = z.array(grant.omit({ value: true })).max(maxSignInGrants);
export type SignInKeySetting = z.output<typeof signInKeys>[number];

export const signInKeysOf = ({ oidc }: z.output<typeof consoleSetting>): readonly SignInKeySetting[] =>
  (oidc?.grants ?? []).map(({ value: _value, ...key }) => key);
