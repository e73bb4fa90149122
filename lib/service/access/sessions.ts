/**
 * Sessions of people who signed in with a link, a key or an identity provider. A session has the rights of its key, without those that a
 * person needs rarely or never, and ends with the key. A person who shows a key with `admin` again has that right for a quarter of an
 * hour. Only digests of the secrets are stored.
 */
import type { KeyId, SessionId } from '../../engine/ids.ts';
import { type Instant, after, between, earliest, hours, minutes, seconds } from '../../engine/time.ts';
import { type ApiKey, type KeyScope, keyScopes } from '../../ports/control.ts';
import type { Session } from '../../ports/sessions.ts';
import type { Deps } from '../deps.ts';
import type { Authenticator } from './authenticator.ts';

/** Long enough for a browser to open the link. */
export const sessionLinkLifetime = seconds(60);
/** Longer than the link's lifetime; the expiry only cleans up. */
const linkRetention = minutes(15);
/** A working day. */
export const sessionLifetime = hours(12);
/** A session ends this long after its last use. */
export const sessionIdleTime = hours(1);
/** A use is recorded if the recorded one is older. A session can therefore end this much earlier than its idle time. */
export const sessionUseResolution = minutes(5);

/** How long a session has `admin` after its person showed a key that has it. */
export const raisedTime = minutes(15);

/** `admin` creates keys, which outlive the session, so a session has it only for a short time. `world:proxy` is for deployed code. */
const withheldScopes: readonly KeyScope[] = ['admin', 'world:proxy'];

/** The scopes of a session of this key, when it is not raised. The scope `admin` grants all others. */
const sessionScopes = ({ scopes }: Pick<ApiKey, 'scopes'>): readonly KeyScope[] =>
  keyScopes.filter((scope) => !withheldScopes.includes(scope) && (scopes.includes('admin') || scopes.includes(scope)));

/** Creates a link for a key. @returns when it expires */
export async function createSessionLink(
  { sessions, clock }: Pick<Deps, 'sessions' | 'clock'>,
  keyId: KeyId,
  digest: string,
): Promise<Instant> {
  const expiresAt = after(clock.now(), sessionLinkLifetime);
  await sessions.putLink(digest, { keyId, expiresAt }, after(clock.now(), linkRetention));
  return expiresAt;
}

/** The id of a new session and the digest of its secret. */
export interface MintedSession {
  readonly id: SessionId;
  readonly digest: string;
}

/** A session that a request presented, with the digest under which it is stored. */
export interface OpenSession extends Session {
  readonly digest: string;
}

/** The key as a session uses it: with the scopes of the session. */
export interface SessionKey extends ApiKey {
  readonly session: OpenSession;
}

const sessionKey = (key: ApiKey, session: Session, digest: string): SessionKey => ({
  ...key,
  scopes: sessionScopes(key),
  session: { ...session, digest },
});

/** `admin` and all that it grants a person. */
const raisedScopes: readonly KeyScope[] = keyScopes.filter((scope) => scope !== 'world:proxy');

/** Starts a session of a key, which the caller has authenticated. */
export async function startSession(
  { sessions, clock }: Pick<Deps, 'sessions' | 'clock'>,
  key: ApiKey,
  { id, digest }: MintedSession,
  subject = `key:${key.keyId}`,
): Promise<SessionKey> {
  const createdAt = clock.now();
  const { keyId, projectId, environment } = key;
  const end = after(createdAt, sessionLifetime);
  const session: Session = {
    id,
    subject,
    keyId,
    projectId,
    environment,
    createdAt,
    expiresAt: earliest([end, key.expiresAt ?? end]) ?? end,
    lastUsedAt: createdAt,
  };
  await sessions.put(digest, session);
  return sessionKey(key, session, digest);
}

export type ExchangeResult =
  | { readonly kind: 'started'; readonly key: SessionKey }
  | { readonly kind: 'link_invalid'; readonly why: string };

/** Redeems the link for a new session of its key, which must still be valid. */
export async function exchangeSessionLink(
  deps: Pick<Deps, 'sessions' | 'clock' | 'ids'>,
  authenticator: Authenticator,
  linkDigest: string,
  minted: MintedSession,
): Promise<ExchangeResult> {
  const redeemed = await redeemSessionLink(deps, authenticator, linkDigest);
  return redeemed.kind === 'redeemed' ? { kind: 'started', key: await startSession(deps, redeemed.key, minted) } : redeemed;
}

export type RedeemedLink =
  | { readonly kind: 'redeemed'; readonly key: ApiKey }
  | { readonly kind: 'link_invalid'; readonly why: string };

/** Redeems the link. The conditional write admits one of two concurrent requests. */
export async function redeemSessionLink(
  { sessions, clock, ids }: Pick<Deps, 'sessions' | 'clock' | 'ids'>,
  authenticator: Authenticator,
  linkDigest: string,
): Promise<RedeemedLink> {
  const link = await sessions.link(linkDigest);
  if (link === undefined) return linkInvalid('link_unknown');
  if (link.expiresAt <= clock.now()) return linkInvalid('link_expired');
  const authenticated = await authenticator.recheck(link.keyId);
  if (authenticated.kind !== 'authenticated') return linkInvalid(`link_of_a_key_${authenticated.why}`);
  if (!(await sessions.redeemLink(linkDigest, ids.nonce()))) return linkInvalid('link_used');
  return { kind: 'redeemed', key: authenticated.key };
}

const linkInvalid = (why: string) => ({ kind: 'link_invalid', why }) as const;

/** When the session ends if it is not used again after this request. */
export const idleEndOf = ({ lastUsedAt, expiresAt }: Session, now: Instant): Instant => {
  const recorded = isUseDue(lastUsedAt, now) ? now : lastUsedAt;
  const end = after(recorded, sessionIdleTime);
  return end < expiresAt ? end : expiresAt;
};

const isUseDue = (lastUsedAt: Instant, now: Instant): boolean => between(lastUsedAt, now) >= sessionUseResolution;

export type SessionAuthentication =
  | { readonly kind: 'authenticated'; readonly key: SessionKey }
  | { readonly kind: 'session_invalid'; readonly why: string };

/** Finds the session and checks that it and its key are valid. It is read for each request, so that signing out takes effect at once. */
export async function authenticateSession(
  { sessions, clock }: Pick<Deps, 'sessions' | 'clock'>,
  authenticator: Authenticator,
  digest: string,
): Promise<SessionAuthentication> {
  const session = await sessions.session(digest);
  if (session === undefined) return sessionInvalid('session_unknown');
  const now = clock.now();
  if (session.expiresAt <= now) return sessionInvalid('session_expired');
  if (after(session.lastUsedAt, sessionIdleTime) <= now) return sessionInvalid('session_idle');
  const authenticated = await authenticator.recheck(session.keyId);
  if (authenticated.kind !== 'authenticated') return sessionInvalid(`session_of_a_key_${authenticated.why}`);
  const key = sessionKey(authenticated.key, session, digest);
  return { kind: 'authenticated', key: (await isRaised(authenticator, session, now)) ? { ...key, scopes: raisedScopes } : key };
}

/** The key that raised the session must still be valid and have `admin`. */
async function isRaised(authenticator: Authenticator, { raised }: Session, now: Instant): Promise<boolean> {
  if (raised === undefined || raised.until <= now) return false;
  const authenticated = await authenticator.recheck(raised.keyId);
  return authenticated.kind === 'authenticated' && authenticated.key.scopes.includes('admin');
}

export type RaiseResult =
  | { readonly kind: 'raised'; readonly session: Session; readonly scopes: readonly KeyScope[] }
  /** the key has no `admin`, or is of another project: with it, the session would leave its project */
  | { readonly kind: 'missing_scope' | 'foreign_project' }
  /** the session was signed out meanwhile */
  | { readonly kind: 'session_invalid' };

/** Gives the session `admin` for a quarter of an hour. The caller has authenticated the key, or redeemed a link of it. */
export async function raiseSession(
  { sessions, clock }: Pick<Deps, 'sessions' | 'clock'>,
  { digest, ...session }: OpenSession,
  shown: ApiKey,
): Promise<RaiseResult> {
  if (shown.projectId !== session.projectId || shown.environment !== session.environment) return { kind: 'foreign_project' };
  if (!shown.scopes.includes('admin')) return { kind: 'missing_scope' };
  const until = earliest([after(clock.now(), raisedTime), session.expiresAt]) ?? session.expiresAt;
  const raised = { keyId: shown.keyId, until };
  if (!(await sessions.raise(digest, raised))) return { kind: 'session_invalid' };
  return { kind: 'raised', session: { ...session, raised }, scopes: raisedScopes };
}

export type LowerResult =
  | { readonly kind: 'lowered'; readonly session: Session; readonly scopes: readonly KeyScope[] }
  | { readonly kind: 'session_invalid' };

/** Takes `admin` from the session before its time. */
export async function lowerSession(
  { sessions }: Pick<Deps, 'sessions'>,
  authenticator: Authenticator,
  { digest, raised: _ended, ...session }: OpenSession,
): Promise<LowerResult> {
  const authenticated = await authenticator.recheck(session.keyId);
  if (authenticated.kind !== 'authenticated' || !(await sessions.raise(digest, undefined))) return { kind: 'session_invalid' };
  return { kind: 'lowered', session, scopes: sessionScopes(authenticated.key) };
}

const sessionInvalid = (why: string): SessionAuthentication => ({ kind: 'session_invalid', why });

/** Records a use of the session, every five minutes. It may run concurrently with the request. */
export async function recordSessionUse(
  { sessions, clock }: Pick<Deps, 'sessions' | 'clock'>,
  { lastUsedAt, digest }: OpenSession,
): Promise<void> {
  const now = clock.now();
  if (isUseDue(lastUsedAt, now)) await sessions.recordUse(digest, now);
}

/** Ends the session. @returns the session that ended; undefined if there was none */
export async function endSession({ sessions }: Pick<Deps, 'sessions'>, digest: string): Promise<Session | undefined> {
  const session = await sessions.session(digest);
  if (session !== undefined) await sessions.delete(digest);
  return session;
}
