/** The session routes. Only a page of this API signs in or out: a page of another site could sign a user in to the attacker's session. */
import { randomBytes } from 'node:crypto';
import type * as z from 'zod';
import { allows, linkPattern, newLink, newSession, parseKey, secretDigest } from '../../../lib/api/auth.ts';
import type { raiseSessionBody } from '../../../lib/api/schemas/sessions.ts';
import { endedSessionCookie, isSameOrigin, readSessionCookie, sessionCookie } from '../../../lib/api/session-cookie.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import { type Instant, between, iso } from '../../../lib/engine/time.ts';
import type { KeyScope } from '../../../lib/ports/control.ts';
import type { Session } from '../../../lib/ports/sessions.ts';
import {
  type ProviderSignIn,
  type SignInRefusal,
  identify,
  isFresh,
  signInWithProvider,
} from '../../../lib/service/access/provider-sign-in.ts';
import {
  type OpenSession,
  type SessionKey,
  createSessionLink,
  endSession,
  exchangeSessionLink,
  idleEndOf,
  lowerSession,
  raiseSession,
  redeemSessionLink,
  startSession,
} from '../../../lib/service/access/sessions.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { checkRate } from '../pipeline/check-key.ts';
import { cookieRequestOf } from '../pipeline/http-call.ts';
import { type CommonTools, type OperationTable, refuse, times } from '../operation.ts';

type HandledOperations =
  | 'createSessionLink'
  | 'exchangeSessionLink'
  | 'createSession'
  | 'getSignInProvider'
  | 'signInWithProvider'
  | 'raiseSession'
  | 'lowerSession'
  | 'getSession'
  | 'deleteSession';

/** The tools of the function that signs people in. */
export interface SignInTools extends CommonTools {
  /** undefined: the setting `console` names no identity provider */
  readonly signIn: () => Promise<ProviderSignIn | undefined>;
}

type Headers = Readonly<Record<string, string | undefined>>;

/** Every route of the console reads. A key without this scope could not even show its session. */
const requiredScope = 'runs:read';

const mintSession = () => {
  const { secret, id } = newSession(randomBytes);
  return { secret, id, digest: secretDigest(secret) };
};

export const sessionOperations: OperationTable<HandledOperations, SignInTools> = {
  async createSessionLink({ decider: { deps } }, { caller }) {
    invariant(caller !== undefined, 'a link needs an authenticated key');
    const link = newLink(randomBytes);
    const expiresAt = await createSessionLink(deps, caller, secretDigest(link));
    return { status: 201, body: { link, expiresAt: iso(expiresAt) }, audit: { resource: 'session-link' } };
  },

  async exchangeSessionLink({ decider: { deps }, authenticator }, { body: { link }, headers }) {
    if (!isSameOrigin(cookieRequestOf({ headers }))) return refuse('cross_origin');
    if (!linkPattern.test(link)) return refuseSignIn('link_invalid', 'link_malformed');
    const { secret, ...minted } = mintSession();
    const result = await exchangeSessionLink(deps, authenticator, secretDigest(link), minted);
    if (result.kind !== 'started') return refuseSignIn(result.kind, result.why);
    return signedIn(deps, headers, result.key, secret, 'link');
  },

  async createSession(tools, { body, headers }) {
    const { authenticator, decider } = tools;
    if (!isSameOrigin(cookieRequestOf({ headers }))) return refuse('cross_origin');
    const presented = parseKey(body.key);
    if (presented === undefined) return refuseSignIn('unauthorized', 'malformed');
    const authenticated = await authenticator.authenticate(presented);
    if (authenticated.kind !== 'authenticated') return refuseSignIn(authenticated.kind, authenticated.why);
    const { key } = authenticated;
    const { headers: rateHeaders, refusal } = await checkRate(tools, key);
    if (refusal !== undefined) return { ...refuse('rate_limited'), headers: rateHeaders };
    if (!allows(key.scopes, requiredScope)) return refuse('missing_scope', { required: requiredScope });
    const { secret, ...minted } = mintSession();
    return signedIn(decider.deps, headers, await startSession(decider.deps, key, minted), secret, 'key');
  },

  async getSignInProvider({ signIn }) {
    const found = await signIn();
    if (found === undefined) return { status: 200, body: { provider: null } };
    const { clientId, scope, provider } = found;
    return {
      status: 200,
      body: { provider: { authorizationEndpoint: await provider.authorizationEndpoint(), clientId, scope } },
    };
  },

  async signInWithProvider({ decider: { deps }, authenticator, signIn }, { body, headers }) {
    if (!isSameOrigin(cookieRequestOf({ headers }))) return refuse('cross_origin');
    const configured = await signIn();
    if (configured === undefined) return refuseSignIn('sign_in_refused', 'no_provider');
    const { secret, ...minted } = mintSession();
    const result = await signInWithProvider(deps, authenticator, configured, body, minted);
    if (result.kind !== 'started') return refuseProvider(result);
    return signedIn(deps, headers, result.key, secret, 'provider');
  },

  async raiseSession(tools, { session, body }) {
    invariant(session !== undefined, 'this route needs a session');
    const { deps } = tools.decider;
    const shown = await shownKey(tools, session, body);
    if ('refused' in shown) return shown;
    const resource = `session/${session.id}`;
    const facts = { by: shown.by, shownKeyId: shown.key.keyId };
    const result = await raiseSession(deps, session, shown.key);
    if (result.kind === 'missing_scope') return { ...refuse(result.kind, { required: 'admin' }), audit: { resource, facts } };
    if (result.kind !== 'raised') return { ...refuse(result.kind), audit: { resource, facts } };
    return { status: 200, body: viewOf(result, deps.clock.now()), audit: { resource, facts } };
  },

  async lowerSession({ decider: { deps }, authenticator }, { session }) {
    invariant(session !== undefined, 'this route needs a session');
    const audit = { resource: `session/${session.id}` };
    const result = await lowerSession(deps, authenticator, session);
    if (result.kind !== 'lowered') return { ...refuse(result.kind), audit };
    return { status: 200, body: viewOf(result, deps.clock.now()), audit };
  },

  async getSession({ decider: { deps } }, { session, scopes }) {
    invariant(session !== undefined, 'this route needs a session');
    return { status: 200, body: viewOf({ session, scopes }, deps.clock.now()) };
  },

  async deleteSession({ decider: { deps } }, { headers }) {
    const request = cookieRequestOf({ headers });
    if (!isSameOrigin(request)) return refuse('cross_origin');
    const session = await endPresentedSession(deps, headers);
    const response = {
      status: 200,
      body: { signedOut: session !== undefined },
      headers: { 'set-cookie': endedSessionCookie(request) },
    } as const;
    if (session === undefined) return response;
    const { projectId, environment, keyId } = session;
    const audit = { resource: `session/${session.id}`, scope: { projectId, environment }, by: { keyId, session } };
    return { ...response, audit };
  },
};

const refuseSignIn = <Code extends 'link_invalid' | 'unauthorized' | 'sign_in_refused' | 'not_granted'>(
  code: Code,
  why: string,
) => ({
  ...refuse(code),
  audit: { resource: 'session', failedAuthentication: why },
});

/** The entry names a person for whom the provider vouches, so that the owner sees who has no grant. */
const refuseProvider = (refusal: SignInRefusal) => {
  const { audit, ...refused } = refuseSignIn(refusal.kind, refusal.why);
  return { ...refused, audit: { ...audit, facts: refusal.kind === 'not_granted' ? { subject: refusal.subject } : {} } };
};

/** The key that a person shows to raise the session, once it is authenticated. */
async function shownKey(
  { authenticator, decider: { deps }, signIn }: SignInTools,
  session: OpenSession,
  { key, link, provider }: z.output<typeof raiseSessionBody>,
) {
  if (link !== undefined) {
    if (!linkPattern.test(link)) return refuseSignIn('link_invalid', 'link_malformed');
    const redeemed = await redeemSessionLink(deps, authenticator, secretDigest(link));
    return redeemed.kind === 'redeemed'
      ? ({ by: 'link', key: redeemed.key } as const)
      : refuseSignIn(redeemed.kind, redeemed.why);
  }
  if (provider !== undefined) {
    const configured = await signIn();
    if (configured === undefined) return refuseSignIn('sign_in_refused', 'no_provider');
    const identified = await identify(configured, provider);
    if (identified.kind !== 'identified') return refuseProvider(identified);
    const { identity } = identified;
    // Another person at this browser would otherwise raise the session of its first one.
    if (identity.subject !== session.subject) return refuseSignIn('sign_in_refused', 'sign_in_of_another_person');
    if (!isFresh(identity, deps.clock.now())) return refuseSignIn('sign_in_refused', 'sign_in_not_fresh');
    const authenticated = await authenticator.recheck(identity.keyId);
    return authenticated.kind === 'authenticated'
      ? ({ by: 'provider', key: authenticated.key } as const)
      : refuseSignIn('not_granted', `sign_in_key_${authenticated.why}`);
  }
  const presented = parseKey(key ?? '');
  if (presented === undefined) return refuseSignIn('unauthorized', 'malformed');
  const authenticated = await authenticator.authenticate(presented);
  return authenticated.kind === 'authenticated'
    ? ({ by: 'key', key: authenticated.key } as const)
    : refuseSignIn(authenticated.kind, authenticated.why);
}

const endPresentedSession = async (deps: Deps, headers: Headers) => {
  const presented = readSessionCookie(cookieRequestOf({ headers }));
  return presented.kind === 'present' ? endSession(deps, secretDigest(presented.secret)) : undefined;
};

/** The new session gets a new secret, and replaces the one that the browser had. */
const signedIn = async (deps: Deps, headers: Headers, key: SessionKey, secret: string, by: 'link' | 'key' | 'provider') => {
  await endPresentedSession(deps, headers);
  const { session, keyId } = key;
  const maxAgeSeconds = Math.floor(between(session.createdAt, session.expiresAt) / 1_000);
  return {
    status: 201,
    body: viewOf(key, session.createdAt),
    headers: { 'set-cookie': sessionCookie(cookieRequestOf({ headers }), secret, maxAgeSeconds) },
    audit: {
      resource: `session/${session.id}`,
      scope: { projectId: key.projectId, environment: key.environment },
      by: { keyId, session },
      facts: { signedInBy: by },
    },
  } as const;
};

const viewOf = ({ session, scopes }: { readonly session: Session; readonly scopes: readonly KeyScope[] }, now: Instant) => {
  const { id, subject, keyId, projectId, environment, expiresAt, raised } = session;
  const ends = { expiresAt: iso(expiresAt), idleExpiresAt: iso(idleEndOf(session, now)) };
  const raisedUntil = scopes.includes('admin') ? raised?.until : undefined;
  return { id, subject, keyId, projectId, environment, scopes, ...ends, ...times({ raisedUntil }) };
};
