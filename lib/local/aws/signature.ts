/**
 * AWS Signature Version 4: computes the signature of a request from the caller's secret, and compares.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
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

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();

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
const signingKeys = new Map<string, Buffer>();
const maxKeys = 1_000;

function signingKey(secret: string, scope: string): Buffer {
  const name = `${secret} ${scope}`;
  const cached = signingKeys.get(name);
  if (cached !== undefined) return cached;
  const [day = '', region = '', service = '', end = ''] = scope.split('/');
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), service), end);
  if (signingKeys.size >= maxKeys) signingKeys.clear();
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
