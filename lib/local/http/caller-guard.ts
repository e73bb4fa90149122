/**
 * Decides which requests a port of the embedded cloud accepts, by headers that a browser cannot forge. A foreign page can make a
 * browser send requests to 127.0.0.1. With DNS rebinding, `Host` is the site's own name. Across origins, `Origin` and
 * `Sec-Fetch-Site` show it. Programs such as curl send neither.
 */
import type { IncomingHttpHeaders } from 'node:http';

export interface AllowedOrigins {
  /** other ports of this cloud whose pages may call this port */
  readonly ports: readonly number[];
  /** other origins that the owner of the machine allows, such as `http://localhost:5173` */
  readonly configuredOrigins: readonly string[];
}

/** For ports that no page may call. */
export const noOrigins = undefined;

export type CallerRejection = 'host' | 'origin';

type CallerHeaders = Pick<IncomingHttpHeaders, 'host' | 'origin' | 'sec-fetch-site' | 'sec-fetch-mode'>;

/** @param allowed undefined: no page may call */
export function checkCaller(headers: CallerHeaders, allowed: AllowedOrigins | undefined): CallerRejection | undefined {
  const { host } = headers;
  if (!isLocalHost(host)) return 'host';
  const { origin } = headers;
  if (origin !== undefined) return isAllowed(origin, host ?? '', allowed) ? undefined : 'origin';
  // Requests without Origin that a page of another origin causes: images, scripts, forms with GET. Following a link is allowed.
  const site = headers['sec-fetch-site'] ?? 'none';
  const isSameSite = site === 'none' || site === 'same-origin' || headers['sec-fetch-mode'] === 'navigate';
  return isSameSite ? undefined : 'origin';
}

function isAllowed(origin: string, host: string, allowed: AllowedOrigins | undefined): boolean {
  if (allowed === undefined) return false;
  if (allowed.configuredOrigins.includes(origin)) return true;
  const originUrl = URL.parse(origin);
  if (originUrl === null || originUrl.protocol !== 'http:' || originUrl.origin !== origin || !isLocalHost(originUrl.host))
    return false;
  // The port of Host, not the listening port, so that a forwarded port is also its own origin.
  const hostPort = /:(\d+)$/.exec(host)?.[1] ?? '80';
  return [hostPort, ...allowed.ports.map(String)].includes(originUrl.port === '' ? '80' : originUrl.port);
}

/** Whether a Host header names this machine. After DNS rebinding it is the name of the foreign site. */
export function isLocalHost(host: string | undefined): boolean {
  const named = /^(?:localhost|127\.0\.0\.1)(?::(\d+))?$/i.exec(host ?? '');
  return named !== null && Number(named[1] ?? 80) <= 65_535;
}
