/**
 * HTTP headers that an author may set in `http` nodes, stored queries and webhook settings. Transport headers are not among them: the
 * sender sets them, and proxies may change them. An author's value would be ignored at best. At worst it would split one request into
 * two (request smuggling, RFC 9112 section 11.2).
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

/** Why the name is not allowed, as the end of a sentence that begins with it; undefined if it is. */
export const invalidHeaderReason = (name: string): string | undefined => {
  if (!token.test(name)) return 'is not a header name';
  const lower = name.toLowerCase();
  return transportHeaders.has(lower) || lower.startsWith('proxy-') ? 'is set by the sender' : undefined;
};
