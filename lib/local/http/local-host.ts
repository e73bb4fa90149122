/**
 * Whether a Host header names this machine. A page of a foreign site can make a browser speak to 127.0.0.1 under the
 * site's own name (DNS rebinding); then the Host header is that name.
 */
export const isLocalHost = (host: string | undefined): boolean => /^(localhost|127\.0\.0\.1)(:\d+)?$/i.test(host ?? '');
