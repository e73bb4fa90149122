/** The ports of signed-in people: links that sign in once, and sessions. Only digests of their secrets are stored. */
import type { KeyId, Nonce, Scope, SessionId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

/** A link that signs one browser in. */
export interface SessionLink {
  /** the API key that created it; the link becomes invalid with the key */
  readonly keyId: KeyId;
  /** the time from which it is invalid */
  readonly expiresAt: Instant;
}

/** What an audit entry says about a session. */
export interface SessionIdentity {
  readonly id: SessionId;
  /** who signed in: `key:<keyId>` for a link or a key, `oidc:<name>` for a person whom an identity provider names */
  readonly subject: string;
}

export interface Session extends Scope, SessionIdentity {
  /** the API key whose rights it has; the session becomes invalid with the key */
  readonly keyId: KeyId;
  readonly createdAt: Instant;
  /** the time from which it is invalid, however often it is used */
  readonly expiresAt: Instant;
  /** a recent use; `service/access/sessions.ts` defines how exact it is */
  readonly lastUsedAt: Instant;
  /** the person showed a key with `admin` again; absent: never */
  readonly raised?: RaisedRights;
}

/** The right `admin` of a session, for a short time. */
export interface RaisedRights {
  /** the key that has `admin`; the right ends with it */
  readonly keyId: KeyId;
  /** the time from which the session has the right no longer */
  readonly until: Instant;
}

/** `service/access/sessions.ts` checks the expiry of links and sessions. A digest is SHA-256 of the secret, in hex. */
export interface Sessions {
  putLink(digest: string, link: SessionLink, retainUntil: Instant): Promise<void>;
  /** Undefined if no link has this digest. A redeemed link is returned too. */
  link(digest: string): Promise<SessionLink | undefined>;
  /** Redeems a link; false if it is missing or was redeemed with another nonce. Idempotent for the same nonce. */
  redeemLink(digest: string, by: Nonce): Promise<boolean>;
  /** Stores a new session. The record may be deleted after `expiresAt`. */
  put(digest: string, session: Session): Promise<void>;
  /** Strongly consistent: a deleted session is not returned. */
  session(digest: string): Promise<Session | undefined>;
  /** Records a use, unless a later use is recorded. Does nothing if the session is missing. */
  recordUse(digest: string, at: Instant): Promise<void>;
  /** Sets the raised rights; undefined removes them. False if the session is missing: it was signed out meanwhile, and stays so. */
  raise(digest: string, raised: RaisedRights | undefined): Promise<boolean>;
  /** Deletes the session. Repeating it has no effect. */
  delete(digest: string): Promise<void>;
}
