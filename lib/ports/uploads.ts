/** Presigned URLs at which clients put and get values that are too large for a request. The values are those of `Blobs`. */
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

/** A request that a client sends to the store. */
export interface PresignedUpload {
  readonly method: 'PUT';
  readonly url: string;
  /** The client sends exactly these. The store refuses an upload without them, or with bytes of another digest. */
  readonly headers: Readonly<Record<string, string>>;
  readonly expiresAt: Instant;
}

export interface UploadedContent {
  /** SHA-256 of the bytes, in hex */
  readonly sha256: string;
  readonly bytes: number;
}

export interface Uploads {
  /**
   * A presigned URL to which a client puts these bytes until `expiresAt`.
   * @param keptUntil when the store may delete what was uploaded
   */
  presignUpload(
    scope: Scope,
    key: string,
    content: UploadedContent,
    until: { readonly expiresAt: Instant; readonly keptUntil: Instant },
  ): Promise<PresignedUpload>;
  /** A presigned URL at which a client gets the value until `expiresAt`. */
  presignDownload(scope: Scope, key: string, expiresAt: Instant): Promise<string>;
}

/** The last part of the key of bytes that a client uploaded, after their digest. All other values are JSON. */
const uploadedMark = '.bytes';

export const uploadedKey = (prefix: string, sha256: string): string => `${prefix}${sha256}${uploadedMark}`;
export const isUploadedKey = (key: string): boolean => key.endsWith(uploadedMark);
