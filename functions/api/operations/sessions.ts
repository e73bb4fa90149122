/** The session routes. Only a page of this API signs in or out: a page of another site could sign a user in to the attacker's session. */
import { randomBytes } from 'node:crypto';
import { allows, linkPattern, newLink, newSession, parseKey, secretDigest } from '../../../lib/api/auth.ts';
import { endedSessionCookie, isSameOrigin, readSessionCookie, sessionCookie } from '../../../lib/api/session-cookie.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import { type Instant, between, iso } from '../../../lib/engine/time.ts';
import {
  type SessionKey,
  createSessionLink,
  endSession,
  exchangeSessionLink,
  idleEndOf,
  startSession,
} from '../../../lib/service/access/sessions.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import { checkRate } from '../pipeline/check-key.ts';
import { cookieRequestOf } from '../pipeline/http-call.ts';
import { type CommonTools, type OperationTable, refuse } from '../operation.ts';

type HandledOperations = 'createSessionLink' | 'exchangeSessionLink' | 'createSession' | 'getSession' | 'deleteSession';
type Headers = Readonly<Record<string, string | undefined>>;

/** Every route of the console reads. A key without this scope could not even show its session. */
const requiredScope = 'runs:read';

const mintSession = () => {
  const { secret, id } = newSession(randomBytes);
  return { secret, id, digest: secretDigest(secret) };
};

export const sessionOperations: OperationTable<HandledOperations, CommonTools> = {
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

const refuseSignIn = <Code extends 'link_invalid' | 'unauthorized'>(code: Code, why: string) => ({
  ...refuse(code),
  audit: { resource: 'session', failedAuthentication: why },
});

const endPresentedSession = async (deps: Deps, headers: Headers) => {
  const presented = readSessionCookie(cookieRequestOf({ headers }));
  return presented.kind === 'present' ? endSession(deps, secretDigest(presented.secret)) : undefined;
};

/** The new session gets a new secret, and replaces the one that the browser had. */
const signedIn = async (deps: Deps, headers: Headers, key: SessionKey, secret: string, by: 'link' | 'key') => {
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

const viewOf = ({ session, scopes }: Pick<SessionKey, 'session' | 'scopes'>, now: Instant) => {
  const { id, subject, keyId, projectId, environment, expiresAt } = session;
  const times = { expiresAt: iso(expiresAt), idleExpiresAt: iso(idleEndOf(session, now)) };
  return { id, subject, keyId, projectId, environment, scopes, ...times };
};
