/** Presigns URLs of the values in the bucket. */
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { PresignedUpload, UploadedContent, Uploads } from '../ports/uploads.ts';
import { lifetimeTag, payloadKey } from './payload-objects.ts';
import { presignPut, signingTerms } from './presign.ts';

export class S3Uploads implements Uploads {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(client: S3Client, bucket: string, clock: Pick<Clock, 'now'>) {
    this.#client = client;
    this.#bucket = bucket;
    this.#clock = clock;
  }

  async presignUpload(
    scope: Scope,
    key: string,
    content: UploadedContent,
    { expiresAt, keptUntil }: { readonly expiresAt: Instant; readonly keptUntil: Instant },
  ): Promise<PresignedUpload> {
    const now = this.#clock.now();
    const object = { Bucket: this.#bucket, Key: payloadKey(scope, key), Tagging: lifetimeTag(keptUntil, now) };
    return presignPut(this.#client, object, content, { now, expiresAt });
  }

  async presignDownload(scope: Scope, key: string, expiresAt: Instant): Promise<string> {
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: payloadKey(scope, key) });
    return getSignedUrl(this.#client, command, signingTerms(this.#clock.now(), expiresAt));
  }
}
