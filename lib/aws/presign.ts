/** Signs uploads to the bucket. S3 accepts only the bytes of the digest and the length that were signed. */
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Instant } from '../engine/time.ts';
import type { PresignedUpload, UploadedContent } from '../ports/uploads.ts';

const digestHeader = 'x-amz-checksum-sha256';
const tagHeader = 'x-amz-tagging';

export interface SignedObject {
  readonly Bucket: string;
  readonly Key: string;
  readonly Tagging?: string;
}

export async function presignPut(
  client: S3Client,
  object: SignedObject,
  { sha256, bytes }: UploadedContent,
  { now, expiresAt }: { readonly now: Instant; readonly expiresAt: Instant },
): Promise<PresignedUpload> {
  const digest = base64OfHex(sha256);
  const command = new PutObjectCommand({ ...object, ChecksumSHA256: digest, ContentLength: bytes });
  // Signed as headers, not in the query: the client must then send them, and S3 verifies the body against the digest.
  const url = await getSignedUrl(client, command, {
    ...signingTerms(now, expiresAt),
    unhoistableHeaders: new Set([digestHeader, tagHeader]),
    signableHeaders: new Set(['host', 'content-length', digestHeader, tagHeader]),
  });
  const tag = object.Tagging === undefined ? {} : { [tagHeader]: object.Tagging };
  return { method: 'PUT', url, headers: { 'content-length': String(bytes), [digestHeader]: digest, ...tag }, expiresAt };
}

/** When a signature begins and how long it is valid. */
export const signingTerms = (now: Instant, expiresAt: Instant) => ({
  expiresIn: Math.max(1, Math.floor((expiresAt - now) / 1_000)),
  signingDate: new Date(now),
});

export const base64OfHex = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');
