/** Authenticates a request, then checks the key's rate limit and its scope. */
import { allows, parseKey, ticketPattern } from '../../../lib/api/auth.ts';
import type { Route } from '../../../lib/api/route.ts';
import { parseExternalRunId } from '../../../lib/engine/external/run.ts';
import { runId, runIdPattern } from '../../../lib/engine/ids.ts';
import type { ApiKey, KeyScope } from '../../../lib/ports/control.ts';
import type { Authentication } from '../../../lib/service/access/authenticator.ts';
import { openWithTicket, ticketDigest } from '../../../lib/service/watching/open-with-ticket.ts';
import type { RateDecision } from '../../../lib/service/access/rate-limiter.ts';
import { type Refusal, refuse, type CommonTools } from '../operation.ts';
import type { HttpCall } from './http-call.ts';

export type Authenticated =
  | { readonly kind: 'authenticated'; readonly key: ApiKey }
  | { readonly kind: 'unauthorized'; readonly why: string; readonly key?: ApiKey }
  | { readonly kind: 'ticket_invalid'; readonly why: string };

/** The Authorization header: the scheme Bearer and one key. A malformed key is refused without a lookup. */
const bearer = /^Bearer +([^\s]+)$/i;

export const authenticate = async (
  { authenticator, decider }: Pick<CommonTools, 'authenticator' | 'decider'>,
  route: Pick<Route, 'acceptsTicket'>,
  call: HttpCall,
): Promise<Authenticated> => {
  const header = call.headers['authorization'];
  const ticket = call.query['ticket'];
  if (header === undefined && route.acceptsTicket === true && ticket !== undefined) {
    const runIdText = call.params['runId'] ?? '';
    const id = runIdPattern.test(runIdText) ? runId(runIdText) : parseExternalRunId(runIdText);
    if (!ticketPattern.test(ticket) || id === undefined) return { kind: 'ticket_invalid', why: 'ticket_malformed' };
    return openWithTicket(decider.deps, authenticator, ticketDigest(ticket), id);
  }
  if (header === undefined) return { kind: 'unauthorized', why: 'missing' };
  const presented = parseKey(bearer.exec(header.trim())?.[1] ?? '');
  if (presented === undefined) return { kind: 'unauthorized', why: 'malformed' };
  return authenticator.authenticate(presented) satisfies Promise<Authentication>;
};

/** Whether a query parameter contains a valid key. A mistyped key fails its checksum and is no secret. */
export const hasKeyInQuery = ({ query }: HttpCall): boolean =>
  Object.values(query).some((value) => value !== undefined && parseKey(value.replace(/^Bearer\s+/i, '')) !== undefined);

/** Rate windows are minutes. The headers follow draft-ietf-httpapi-ratelimit-headers. */
const windowSeconds = 60;

export const checkRate = async (
  { rates }: Pick<CommonTools, 'rates'>,
  key: ApiKey,
): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly refusal?: Refusal }> => {
  const rate = await rates.take(key);
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

export const checkScope = (key: ApiKey, required: KeyScope): Refusal | undefined =>
  allows(key.scopes, required) ? undefined : refuse('missing_scope', { required });
