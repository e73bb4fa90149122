/**
 * Whether a Host header names this machine. A foreign page can make a browser send requests to 127.0.0.1 under the site's own
 * name (DNS rebinding); then the Host header is that name.
 */
export function isLocalHost(host: string | undefined): boolean {
  const named = /^(?:localhost|127\.0\.0\.1)(?::(\d+))?$/i.exec(host ?? '');
  return named !== null && Number(named[1] ?? 80) <= 65_535;
}
