/**
 * AWS Signature Version 4: computes the signature of a request from the caller's secret, and compares.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { type KeyObject, createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { WireRequest } from './wire.ts';

type SignedRequest = Pick<WireRequest, 'method' | 'url' | 'query' | 'headers' | 'body'>;

export interface SignatureParameters {
  /** `20261120/us-east-1/dynamodb/aws4_request` */
  readonly scope: string;
  /** `20261120T101112Z` */
  readonly date: string;
  /** names in lower case, in the order of the signature */
  readonly signedHeaders: readonly string[];
}

const sha256 = (data: string | Buffer): string => hash('sha256', data, 'hex');
const hmac = (key: KeyObject, data: string): Buffer => createHmac('sha256', key).update(data).digest();

const escapeUri = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** S3 signs the path as sent. Every other service signs it URI-encoded once more, without empty segments. */
function canonicalPath(url: string, service: string): string {
  const path = url.split('?')[0] ?? '/';
  if (service === 's3') return path;
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const ending = parts.length > 0 && path.endsWith('/') ? '/' : '';
  return escapeUri(`/${parts.join('/')}${ending}`).replaceAll('%2F', '/');
}

function canonicalQuery(query: URLSearchParams): string {
  const pairs = [...query]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => [escapeUri(name), escapeUri(value)]);
  const order = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
  return pairs
    .toSorted(([a = '', x = ''], [b = '', y = '']) => order(a, b) || order(x, y))
    .map((pair) => pair.join('='))
    .join('&');
}

/** The body digest that the request declares, or the marker of an unsigned body. */
const declaredBodyDigest = ({ headers, query }: SignedRequest): string | undefined =>
  headers['x-amz-content-sha256'] ?? query.get('X-Amz-Content-Sha256') ?? undefined;

/** A signing key depends on the secret, day, region and service, so there are a few for each secret. */
const signingKeys = new LRUCache<string, KeyObject>({ max: 1_000 });

function signingKey(secret: string, scope: string): KeyObject {
  const name = `${secret} ${scope}`;
  const cached = signingKeys.get(name);
  if (cached !== undefined) return cached;
  const [day = '', region = '', service = '', end = ''] = scope.split('/');
  // A key object, because Node needs longer for a hash with a key of bytes.
  let key = createSecretKey(`AWS4${secret}`, 'utf8');
  for (const part of [day, region, service, end]) key = createSecretKey(hmac(key, part));
  signingKeys.set(name, key);
  return key;
}

/** In hex. */
export function signatureOf(request: SignedRequest, { scope, date, signedHeaders }: SignatureParameters, secret: string): string {
  const headers = signedHeaders.map((name) => `${name}:${(request.headers[name] ?? '').trim().replaceAll(/\s+/g, ' ')}\n`);
  const canonical = [
    request.method,
    canonicalPath(request.url, scope.split('/')[2] ?? ''),
    canonicalQuery(request.query),
    headers.join(''),
    signedHeaders.join(';'),
    declaredBodyDigest(request) ?? sha256(request.body),
  ].join('\n');
  return hmac(signingKey(secret, scope), `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`).toString('hex');
}

/** Whether the request was signed with the secret, over its host, the headers of AWS and the body that came. */
export function isSignatureValid(
  request: SignedRequest,
  parameters: SignatureParameters,
  signature: string,
  secret: string,
): boolean {
  const { signedHeaders } = parameters;
  if (!signedHeaders.includes('host')) return false;
  // The x-amz- headers select the operation: the holder of a presigned URL could change the request by an unsigned one.
  if (Object.keys(request.headers).some((name) => name.startsWith('x-amz-') && !signedHeaders.includes(name))) return false;
  const declaredDigest = declaredBodyDigest(request);
  // A hex digest covers the body as received. The other forms cover its chunks, or nothing.
  if (declaredDigest !== undefined && /^[0-9a-f]{64}$/.test(declaredDigest) && declaredDigest !== sha256(request.body))
    return false;
  const expected = Buffer.from(signatureOf(request, parameters, secret));
  const actual = Buffer.from(signature);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

export interface Credential extends SignatureParameters {
  readonly accessKeyId: string;
  readonly service: string;
  readonly signature: string;
}

const scopePattern = /^([^/]+)\/(\d{8}\/[^/]+\/([^/]+)\/aws4_request)$/;

export function readCredential({ headers, query }: Pick<WireRequest, 'headers' | 'query'>): Credential | undefined {
  const { authorization } = headers;
  const inHeader = (name: string): string | undefined => new RegExp(`${name}=([^,\\s]+)`).exec(authorization ?? '')?.[1];
  const part = (name: string): string => (authorization === undefined ? query.get(`X-Amz-${name}`) : inHeader(name)) ?? '';
  const [, accessKeyId, scope, service] = scopePattern.exec(part('Credential')) ?? [];
  if (accessKeyId === undefined || scope === undefined || service === undefined) return undefined;
  const date = (authorization === undefined ? query.get('X-Amz-Date') : headers['x-amz-date']) ?? '';
  const signedHeaders = part('SignedHeaders')
    .split(';')
    .filter((name) => name !== '');
  return { accessKeyId, scope, service, date, signedHeaders, signature: part('Signature') };
}

/** Whether the query contains a signature, so the URL is presigned and its possession is enough. */
export const isPresigned = (query: URLSearchParams): boolean => query.has('X-Amz-Credential');

/** A week, the maximum in AWS. */
const maxExpirySeconds = 604_800;

/** Whether a presigned URL has a valid date and expiry. */
export function hasValidExpiry(query: URLSearchParams): boolean {
  const expires = query.get('X-Amz-Expires') ?? '';
  const isCount = /^\d{1,6}$/.test(expires) && Number(expires) >= 1 && Number(expires) <= maxExpirySeconds;
  return isCount && /^\d{8}T\d{6}Z$/.test(query.get('X-Amz-Date') ?? '');
}

/** Signed headers of a presigned URL that the request does not have: its signature cannot match. */
export const missingSignedHeaders = ({ query, headers }: Pick<WireRequest, 'headers' | 'query'>): readonly string[] =>
  (query.get('X-Amz-SignedHeaders') ?? '').split(';').filter((name) => name !== '' && headers[name] === undefined);

/** Whether a presigned URL has expired. The emulator does not check it. */
export function isExpired(query: URLSearchParams, now: Date): boolean {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(query.get('X-Amz-Date') ?? '') ?? [];
  if (year === undefined) return false;
  const signedAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return signedAt + Number(query.get('X-Amz-Expires') ?? '0') * 1_000 < now.getTime();
}
