/** Authenticates a request by its key, its ticket or the cookie of its session, then checks the rate limit and the scope. */
import { allows, parseKey, secretDigest, ticketPattern } from '../../../lib/api/auth.ts';
import type { Route } from '../../../lib/api/route.ts';
import { isSameOrigin, readSessionCookie } from '../../../lib/api/session-cookie.ts';
import { parseExternalRunId } from '../../../lib/engine/external/run.ts';
import { runId, runIdPattern } from '../../../lib/engine/ids.ts';
import type { ApiKey, KeyScope } from '../../../lib/ports/control.ts';
import type { Authentication } from '../../../lib/service/access/authenticator.ts';
import { type OpenSession, authenticateSession } from '../../../lib/service/access/sessions.ts';
import { openWithTicket, ticketDigest } from '../../../lib/service/watching/open-with-ticket.ts';
import type { RateDecision } from '../../../lib/service/access/rate-limiter.ts';
import { type Refusal, refuse, type CommonTools } from '../operation.ts';
import { type HttpCall, cookieRequestOf } from './http-call.ts';

/** A key, or the key of a session with the scopes of the session. */
export type AuthenticatedKey = ApiKey & { readonly session?: OpenSession };

export type Authenticated =
  | { readonly kind: 'authenticated'; readonly key: AuthenticatedKey }
  | { readonly kind: 'unauthorized'; readonly why: string; readonly key?: ApiKey }
  | { readonly kind: 'ticket_invalid' | 'session_invalid' | 'cross_origin'; readonly why: string };

/** The Authorization header: the scheme Bearer and one key. A malformed key is refused without a lookup. */
const bearer = /^Bearer +([^\s]+)$/i;

export const authenticate = async (
  tools: Pick<CommonTools, 'authenticator' | 'decider'>,
  route: Pick<Route, 'acceptsTicket' | 'credential'>,
  call: HttpCall,
): Promise<Authenticated> => {
  const { authenticator, decider } = tools;
  if (route.credential === 'session') return authenticateBySession(tools, call);
  const header = call.headers['authorization'];
  const ticket = call.query['ticket'];
  if (header === undefined && route.acceptsTicket === true && ticket !== undefined) {
    const runIdText = call.params['runId'] ?? '';
    const id = runIdPattern.test(runIdText) ? runId(runIdText) : parseExternalRunId(runIdText);
    if (!ticketPattern.test(ticket) || id === undefined) return { kind: 'ticket_invalid', why: 'ticket_malformed' };
    return openWithTicket(decider.deps, authenticator, ticketDigest(ticket), id);
  }
  if (header === undefined) return route.credential === 'key' ? missing : authenticateBySession(tools, call);
  const presented = parseKey(bearer.exec(header.trim())?.[1] ?? '');
  if (presented === undefined) return { kind: 'unauthorized', why: 'malformed' };
  return authenticator.authenticate(presented) satisfies Promise<Authentication>;
};

const missing = { kind: 'unauthorized', why: 'missing' } as const;

/** A cookie counts only in requests of the API's own pages, reads too: a page of another port of the host is of the same site. */
const authenticateBySession = async (
  { authenticator, decider }: Pick<CommonTools, 'authenticator' | 'decider'>,
  call: HttpCall,
): Promise<Authenticated> => {
  const request = cookieRequestOf(call);
  const presented = readSessionCookie(request);
  if (presented.kind === 'absent') return missing;
  if (!isSameOrigin(request)) return { kind: 'cross_origin', why: 'session_cross_origin' };
  if (presented.kind !== 'present') return { kind: 'session_invalid', why: `session_${presented.kind}` };
  return authenticateSession(decider.deps, authenticator, secretDigest(presented.secret));
};

/** Whether a query parameter contains a valid key. A mistyped key fails its checksum and is no secret. */
export const hasKeyInQuery = ({ query }: HttpCall): boolean =>
  Object.values(query).some((value) => value !== undefined && parseKey(value.replace(/^Bearer\s+/i, '')) !== undefined);

/** Rate windows are minutes. The headers follow draft-ietf-httpapi-ratelimit-headers. */
const windowSeconds = 60;

export const checkRate = async (
  { rates }: Pick<CommonTools, 'rates'>,
  key: AuthenticatedKey,
): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly refusal?: Refusal }> => {
  const { session } = key;
  const rate = await (session === undefined ? rates.take(key) : rates.takeForSession(key.keyId, session.id));
  if (rate.kind === 'unlimited') return { headers: {} };
  const headers = rateHeaders(rate);
  if (rate.kind === 'allowed') return { headers };
  return { headers: { ...headers, 'retry-after': String(secondsOf(rate)) }, refusal: refuse('rate_limited') };
};

type Limited = Exclude<RateDecision, { kind: 'unlimited' }>;
const secondsOf = ({ resetsIn }: Limited): number => Math.max(1, Math.ceil(resetsIn / 1_000));

const rateHeaders = (rate: Limited) => ({
  'ratelimit-policy': `"default";q=${rate.limit};w=${windowSeconds}`,
  ratelimit: `"default";r=${rate.remaining};t=${secondsOf(rate)}`,
});

/** A raised session has `admin`, which grants all scopes. The one for deployed code is for no session. */
export const checkScope = (key: AuthenticatedKey, required: KeyScope): Refusal | undefined =>
  allows(key.scopes, required) && (key.session === undefined || required !== 'world:proxy')
    ? undefined
    : refuse('missing_scope', { required });
