/** The caller of a request and its proof: the credential scope and the SigV4 signature, from a header or a presigned URL. */
import type { SignatureParameters } from './signature.ts';
import type { WireRequest } from './wire.ts';

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
