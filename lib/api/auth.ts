/** API keys, tickets and scopes: their formats, how they are generated and checked. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  type Environment,
  type EmbedId,
  type KeyId,
  type SessionId,
  embedId,
  environment,
  environmentPattern,
  keyId,
  keyIdPattern,
  sessionId,
} from '../engine/ids.ts';
import type { KeyScope } from '../ports/control.ts';

export interface PresentedKey {
  readonly environment: Environment;
  readonly keyId: KeyId;
  /** SHA-256 of the secret (hex) */
  readonly secretHash: string;
}

const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretBytes = 32;
/** 62^43 is just above 2^256. */
const secretLength = 43;
/** 62^6 is above 2^32. */
const checksumLength = 6;
/** 80 bits, so that the ids of two keys do not collide. */
const keyIdBytes = 10;
const keyIdLength = 14;

const base62 = (value: bigint, length: number): string => {
  let remaining = value;
  let text = '';
  while (text.length < length) {
    text = base62Alphabet.charAt(Number(remaining % 62n)) + text;
    remaining /= 62n;
  }
  return text;
};

const toBigInt = (bytes: Uint8Array): bigint => bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
const checksumOf = (text: string): string => base62(BigInt(crc32(text)), checksumLength);
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** Parses a key; undefined if its form or its checksum is wrong. */
export const parseKey = (text: string): PresentedKey | undefined => {
  const [prefix, environmentName, id, secretAndChecksum, ...extraParts] = text.split('_');
  if (
    prefix !== 'sw' ||
    environmentName === undefined ||
    id === undefined ||
    secretAndChecksum === undefined ||
    extraParts.length > 0
  )
    return undefined;
  if (!environmentPattern.test(environmentName) || !keyIdPattern.test(id)) return undefined;
  if (
    secretAndChecksum.length !== secretLength + checksumLength ||
    checksumOf(text.slice(0, -checksumLength)) !== text.slice(-checksumLength)
  ) {
    return undefined;
  }
  return {
    environment: environment(environmentName),
    keyId: keyId(id),
    secretHash: hashOf(secretAndChecksum.slice(0, secretLength)),
  };
};

/**
 * Creates a key. `text` is returned once and never stored; `secretHash` is stored.
 * @param random returns cryptographically random bytes
 */
export const newKey = (
  environmentName: Environment,
  random: (count: number) => Uint8Array,
): { readonly text: string; readonly keyId: KeyId; readonly secretHash: string } => {
  const id = keyId(base62(toBigInt(random(keyIdBytes)), keyIdLength));
  const secret = base62(toBigInt(random(secretBytes)), secretLength);
  const text = `sw_${environmentName}_${id}_${secret}`;
  return { text: text + checksumOf(text), keyId: id, secretHash: hashOf(secret) };
};

/** The format of a ticket for the event stream of a run: `st_` and 256 random bits. It is part of an address, so it is short-lived and can be used once. */
export const ticketPattern = /^st_[A-Za-z0-9_-]{43}$/;

/** @param random returns cryptographically random bytes */
export const newTicket = (random: (count: number) => Uint8Array): string => `st_${Buffer.from(random(32)).toString('base64url')}`;

/** The format of a link that signs a browser in: `sl_` and 256 random bits. */
export const linkPattern = /^sl_[A-Za-z0-9_-]{43}$/;
/** The format of the secret of a session, which only its cookie contains: `ss_` and 256 random bits. */
export const sessionSecretPattern = /^ss_[A-Za-z0-9_-]{43}$/;

const secretText = (prefix: string, bytes: Uint8Array): string => `${prefix}${Buffer.from(bytes).toString('base64url')}`;

/** @param random returns cryptographically random bytes */
export const newLink = (random: (count: number) => Uint8Array): string => secretText('sl_', random(32));

/** @param random returns cryptographically random bytes */
export const newSession = (random: (count: number) => Uint8Array): { readonly secret: string; readonly id: SessionId } => ({
  secret: secretText('ss_', random(32)),
  id: sessionId(secretText('ses_', random(16))),
});

/** The format of the token of an embed: `se_` and 256 random bits. */
export const embedTokenPattern = /^se_[A-Za-z0-9_-]{43}$/;

/** @param random returns cryptographically random bytes */
export const newEmbed = (random: (count: number) => Uint8Array): { readonly token: string; readonly id: EmbedId } => ({
  token: secretText('se_', random(32)),
  id: embedId(secretText('emb_', random(16))),
});

/** The digest under which the secret of a link or a session is stored. */
export const secretDigest = hashOf;

/** The scope `admin` grants all others. */
export const allows = (scopes: readonly KeyScope[], required: KeyScope): boolean =>
  scopes.includes(required) || scopes.includes('admin');

/** What a socket needs to watch runs. */
export const watchScopes = ['runs:read', 'payloads:read'] as const satisfies readonly KeyScope[];
