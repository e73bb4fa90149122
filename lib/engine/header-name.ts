/**
 * Which HTTP headers an author may name, wherever one is taken from an author: `http` nodes, stored queries, webhook settings.
 * The others say how a message travels. The sender sets them, and a proxy on the way may change them, so an author's value would
 * at best be ignored and at worst split one request into two (request smuggling, RFC 9112 section 11.2).
 */
const transportHeaders: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'expect',
]);

/** A token of RFC 9110 section 5.6.2; 128 characters are more than any registered name has. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

/** Why the name cannot be used, as the end of a sentence that begins with it; undefined: it can. */
export const invalidHeaderReason = (name: string): string | undefined => {
  if (!token.test(name)) return 'is no header name';
  const lower = name.toLowerCase();
  return transportHeaders.has(lower) || lower.startsWith('proxy-') ? 'is set by the sender' : undefined;
};
