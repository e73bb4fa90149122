/**
 * Who is asking, from the credential scope of a SigV4 signature: `LKIA…/20261120/us-east-1/dynamodb/aws4_request`.
 * The signature itself is not verified: a key id is made at random for each start and known only to the function it was made for.
 */
import type { WireRequest } from './wire.ts';

export interface Credential {
  readonly accessKeyId: string;
  readonly service: string;
}

const scope = /^([^/]+)\/\d{8}\/[^/]+\/([^/]+)\/aws4_request$/;

export function readCredential(request: Pick<WireRequest, 'headers' | 'query'>): Credential | undefined {
  const header = /Credential=([^,\s]+)/.exec(request.headers['authorization'] ?? '')?.[1];
  const match = scope.exec(header ?? request.query.get('X-Amz-Credential') ?? '');
  const [, accessKeyId, service] = match ?? [];
  return accessKeyId === undefined || service === undefined ? undefined : { accessKeyId, service };
}

/** Whether the query is a signature: an address that was signed beforehand, for whoever has it. */
export const isPresigned = (query: URLSearchParams): boolean => query.has('X-Amz-Credential');

/** A week, as AWS has it. */
const longestExpirySeconds = 604_800;

/** Whether a presigned address says since when and for how long it is good. */
export function isDated(query: URLSearchParams): boolean {
  const expires = query.get('X-Amz-Expires') ?? '';
  const isCount = /^\d{1,6}$/.test(expires) && Number(expires) >= 1 && Number(expires) <= longestExpirySeconds;
  return isCount && /^\d{8}T\d{6}Z$/.test(query.get('X-Amz-Date') ?? '');
}

/** The headers that a presigned address was signed over and the request does not have: its signature would not match. */
export const unsentHeaders = ({ query, headers }: Pick<WireRequest, 'headers' | 'query'>): readonly string[] =>
  (query.get('X-Amz-SignedHeaders') ?? '').split(';').filter((name) => name !== '' && headers[name] === undefined);

/** Whether a presigned URL's time is over. The emulator answers expired ones all the same, so it is asked here. */
export function isExpired(query: URLSearchParams, now: Date): boolean {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(query.get('X-Amz-Date') ?? '') ?? [];
  if (year === undefined) return false;
  const signedAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return signedAt + Number(query.get('X-Amz-Expires') ?? '0') * 1_000 < now.getTime();
}
