/** What makes two requests the same: the key the caller chose, and the canonical form of the body. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { invariant } from '../engine/invariant.ts';

/**
 * SHA-256, in hex, of the validated body in canonical JSON (RFC 8785): the order of keys does not matter, an absent key
 * is the same as an undefined one, and what the service itself resolves or generates is not in it.
 */
export const bodyHash = (body: unknown): string => {
  const text = canonicalize(body);
  invariant(text !== undefined, 'a body that was parsed has a canonical form');
  return createHash('sha256').update(text).digest('hex');
};

/** The header of draft-ietf-httpapi-idempotency-key-header: a quoted string; a bare one is taken too. */
const quotedKeyPattern = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const keyPattern = /^[\x20-\x7e]{1,255}$/;

/** The key, or undefined where the header holds none: empty, longer than 255, or not printable ASCII. */
export const parseIdempotencyKey = (header: string): string | undefined => {
  const text = header.trim();
  const key = quotedKeyPattern.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? text;
  return keyPattern.test(key) ? key : undefined;
};
