/**
 * Sign-in with an identity provider. The claims of the provider's token choose a key of the installation, which has no secret: a session
 * has the rights of that key, and ends with it.
 */
import type { KeyId } from '../../engine/ids.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { type Instant, after, instant, minutes } from '../../engine/time.ts';
import type { IdentityProvider, ProviderAnswer } from '../../ports/identity-provider.ts';
import type { Deps } from '../deps.ts';
import type { Authenticator } from './authenticator.ts';
import { type MintedSession, type SessionKey, startSession } from './sessions.ts';

/** Which key the claims of a person choose. */
export interface SignInRules {
  readonly claim: string;
  readonly subjectClaim: string;
  /** the first one that matches applies */
  readonly grants: readonly { readonly value: string; readonly keyId: KeyId }[];
}

export interface ProviderSignIn {
  readonly provider: IdentityProvider;
  readonly rules: SignInRules;
  /** for the address at which the browser begins */
  readonly clientId: string;
  readonly scope: string;
}

/** Who signed in, and the key whose rights the person gets. */
interface Identity {
  readonly subject: string;
  readonly keyId: KeyId;
  /** when the person last proved who they are to the provider */
  readonly authenticatedAt: Instant | undefined;
}

export type SignInRefusal =
  | { readonly kind: 'sign_in_refused'; readonly why: string }
  /** `subject`: the provider vouches for this person, who has no rights here */
  | { readonly kind: 'not_granted'; readonly why: string; readonly subject: string };

export type ProviderSignInResult = { readonly kind: 'started'; readonly key: SessionKey } | SignInRefusal;

/** A name that a page and the audit trail can show. */
const subjectPattern = /^[^\p{C}\p{Z}]{1,200}$/u;

/** A fresh sign-in at the provider is younger than this. */
export const freshSignInAge = minutes(5);

export async function signInWithProvider(
  deps: Pick<Deps, 'sessions' | 'clock'>,
  authenticator: Authenticator,
  signIn: ProviderSignIn,
  answer: ProviderAnswer,
  minted: MintedSession,
): Promise<ProviderSignInResult> {
  const identified = await identify(signIn, answer);
  if (identified.kind !== 'identified') return identified;
  const { subject, keyId } = identified.identity;
  const authenticated = await authenticator.recheck(keyId);
  if (authenticated.kind !== 'authenticated') return { kind: 'not_granted', why: `sign_in_key_${authenticated.why}`, subject };
  return { kind: 'started', key: await startSession(deps, authenticated.key, minted, subject) };
}

type Identified = { readonly kind: 'identified'; readonly identity: Identity } | SignInRefusal;

/** Redeems the code, and reads who signed in. */
export async function identify({ provider, rules }: ProviderSignIn, answer: ProviderAnswer): Promise<Identified> {
  const redeemed = await provider.redeem(answer);
  return redeemed.kind === 'refused' ? signInRefused(redeemed.why) : identityOf(redeemed.claims, rules);
}

const signInRefused = (why: string): SignInRefusal => ({ kind: 'sign_in_refused', why });

/** Pure: the claims are verified. */
function identityOf(claims: JsonObject, { claim, subjectClaim, grants }: SignInRules): Identified {
  // Anyone can write another person's address into their profile. Only a verified one says who signed in.
  if ([claim, subjectClaim].includes('email') && claims['email_verified'] !== true) return signInRefused('email_not_verified');
  const name = claims[subjectClaim];
  if (typeof name !== 'string' || !subjectPattern.test(name)) return signInRefused('subject_malformed');
  const subject = `oidc:${name}`;
  const values = textsIn(claims[claim]);
  const granted = grants.find(({ value }) => values.includes(value));
  if (granted === undefined) return { kind: 'not_granted', why: 'claim_not_granted', subject };
  const at = claims['auth_time'];
  const authenticatedAt = typeof at === 'number' && Number.isSafeInteger(at) ? instant(at * 1_000) : undefined;
  return { kind: 'identified', identity: { subject, keyId: granted.keyId, authenticatedAt } };
}

/** A claim is a text or a list of texts. It has no patterns: a person may choose their own name, but not equal another value. */
const textsIn = (claim: JsonValue | undefined): readonly string[] =>
  (Array.isArray(claim) ? claim : [claim]).filter((value) => typeof value === 'string');

/** Whether the provider asked the person again, just now. */
export const isFresh = ({ authenticatedAt }: Identity, now: Instant): boolean =>
  authenticatedAt !== undefined && after(authenticatedAt, freshSignInAge) > now;
