/**
 * Which requests a port of the embedded cloud takes, by what a browser cannot forge. A page of a foreign site can make a browser
 * speak to 127.0.0.1: under the site's own name (DNS rebinding), which is then the `Host`, or across origins, which `Origin` and
 * `Sec-Fetch-Site` say. Programs such as curl send none of the two.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isLocalHost } from './local-host.ts';

export interface AllowedOrigins {
  /** the ports of this cloud whose pages may ask here, beside the one that is asked */
  readonly ports: readonly number[];
  /** whole origins that the owner of the machine allows, such as `http://localhost:5173` */
  readonly configuredOrigins: readonly string[];
}

/** For ports that no page has any business with. */
export const noOrigins = undefined;

export type CallerRejection = 'host' | 'origin';

type CallerHeaders = Pick<IncomingHttpHeaders, 'host' | 'origin' | 'sec-fetch-site' | 'sec-fetch-mode'>;

/** @param allowed undefined: no page may ask */
export function checkCaller(headers: CallerHeaders, allowed: AllowedOrigins | undefined): CallerRejection | undefined {
  const { host } = headers;
  if (!isLocalHost(host)) return 'host';
  const { origin } = headers;
  if (origin !== undefined) return isAllowed(origin, host ?? '', allowed) ? undefined : 'origin';
  // Requests without Origin that a page of another origin causes: images, scripts, forms that get. A person may follow a link.
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
  // The port of Host, and not the one that is listened on, so that a forwarded port is its own origin too.
  const hostPort = /:(\d+)$/.exec(host)?.[1] ?? '80';
  return [hostPort, ...allowed.ports.map(String)].includes(originUrl.port === '' ? '80' : originUrl.port);
}
