/**
 * The cookie of a session: its name, how it is set and read, and which requests may use it. The header Cookie alone proves nothing:
 * browsers also send it with requests that pages of other sites cause. Other ports of one host are the same site, and share its cookies.
 */
import { sessionSecretPattern } from './auth.ts';

/** Over HTTPS. With this prefix, browsers accept the cookie from this host only, over HTTPS, for all paths. */
export const secureSessionCookie = '__Host-stepwell';

/** Names are in lower case. */
type Headers = Readonly<Record<string, string | undefined>>;

export interface CookieRequest {
  readonly headers: Headers;
  /** whether the request provably came over HTTPS */
  readonly isHttps: boolean;
}

/** Over plain HTTP, on one's own machine: the ports of a host share their cookies, so the name contains the port. */
const cookieNameOf = ({ headers, isHttps }: CookieRequest): string =>
  isHttps ? secureSessionCookie : `stepwell_${/:([0-9]{1,5})$/.exec(headers['host'] ?? '')?.[1] ?? '80'}`;

export type PresentedSession =
  | { readonly kind: 'absent' }
  /** `ambiguous`: another port or path of the host has set a cookie of the same name, and either may be first */
  | { readonly kind: 'malformed' | 'ambiguous' }
  | { readonly kind: 'present'; readonly secret: string };

/** Finds the secret of a session. A malformed one is refused without a lookup. */
export function readSessionCookie(request: CookieRequest): PresentedSession {
  const prefix = `${cookieNameOf(request)}=`;
  const cookies = (request.headers['cookie'] ?? '').split(';').map((part) => part.trim());
  const [found, ...others] = cookies.filter((part) => part.startsWith(prefix));
  if (found === undefined) return { kind: 'absent' };
  if (others.length > 0) return { kind: 'ambiguous' };
  const secret = found.slice(prefix.length);
  return sessionSecretPattern.test(secret) ? { kind: 'present', secret } : { kind: 'malformed' };
}

const cookie = (request: CookieRequest, value: string, maxAgeSeconds: number): string =>
  [
    `${cookieNameOf(request)}=${value}`,
    'Path=/',
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(request.isHttps ? ['Secure'] : []),
  ].join('; ');

/** The value of the header Set-Cookie. */
export const sessionCookie = (request: CookieRequest, secret: string, maxAgeSeconds: number): string =>
  cookie(request, secret, maxAgeSeconds);

/** Deletes the cookie. */
export const endedSessionCookie = (request: CookieRequest): string => cookie(request, '', 0);

/**
 * Whether a page of this API sent the request. Browsers set Sec-Fetch-Site, and pages cannot change it. A browser without it still
 * sends Origin with each request that is no plain read; without both, the request is refused.
 */
export function isSameOrigin({ headers, isHttps }: CookieRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  return (
    origin !== undefined && host !== undefined && origin.toLowerCase() === `${isHttps ? 'https' : 'http'}://${host.toLowerCase()}`
  );
}
