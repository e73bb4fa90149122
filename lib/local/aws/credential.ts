/** Who is asking, and the proof: the credential scope and the signature of SigV4, in a header or in a presigned address. */
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

/** Whether the query is a signature: an address that was signed beforehand, for whoever has it. */
export const isPresigned = (query: URLSearchParams): boolean => query.has('X-Amz-Credential');

/** A week, as AWS has it. */
const maxExpirySeconds = 604_800;

/** Whether a presigned address says since when and for how long it is good. */
export function hasValidExpiry(query: URLSearchParams): boolean {
  const expires = query.get('X-Amz-Expires') ?? '';
  const isCount = /^\d{1,6}$/.test(expires) && Number(expires) >= 1 && Number(expires) <= maxExpirySeconds;
  return isCount && /^\d{8}T\d{6}Z$/.test(query.get('X-Amz-Date') ?? '');
}

/** The headers that a presigned address was signed over and the request does not have: its signature would not match. */
export const missingSignedHeaders = ({ query, headers }: Pick<WireRequest, 'headers' | 'query'>): readonly string[] =>
  (query.get('X-Amz-SignedHeaders') ?? '').split(';').filter((name) => name !== '' && headers[name] === undefined);

/** Whether a presigned URL's time is over. The emulator answers expired ones all the same, so it is asked here. */
export function isExpired(query: URLSearchParams, now: Date): boolean {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(query.get('X-Amz-Date') ?? '') ?? [];
  if (year === undefined) return false;
  const signedAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return signedAt + Number(query.get('X-Amz-Expires') ?? '0') * 1_000 < now.getTime();
}
