/** Idempotency: parses the key of a request, and hashes the canonical form of its body. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { invariant } from '../engine/invariant.ts';

/**
 * SHA-256 (hex) of the validated body in canonical JSON (RFC 8785). The order of keys does not matter, and an absent key
 * equals an undefined one. Values that the service resolves or generates are not included.
 */
export const bodyHash = (body: unknown): string => {
  const text = canonicalize(body);
  invariant(text !== undefined, 'a body that was parsed has a canonical form');
  return createHash('sha256').update(text).digest('hex');
};

/** draft-ietf-httpapi-idempotency-key-header requires a quoted string; a bare string is accepted too. */
const quotedKeyPattern = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** in characters */
export const maxIdempotencyKeyLength = 255;
/** printable ASCII */
export const idempotencyKeyPattern = new RegExp(`^[\\x20-\\x7e]{1,${maxIdempotencyKeyLength}}$`);

/** The key, or undefined if it is empty, longer than the limit, or not printable ASCII. */
export const parseIdempotencyKey = (header: string): string | undefined => {
  const text = header.trim();
  const key = quotedKeyPattern.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? text;
  return idempotencyKeyPattern.test(key) ? key : undefined;
};
