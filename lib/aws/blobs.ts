/** Large values as compressed objects of the bucket. */
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { jsonValue } from '../codec/events.ts';
import { readJson } from '../codec/unreadable.ts';
import { payloadLifetimeTag, payloadLifetimes } from '../contract/payload-lifetimes.ts';
import type { Scope } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Instant, days, minutes } from '../engine/time.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Clock } from '../ports/clock.ts';
import { callService } from './call-service.ts';

export class S3Blobs implements Blobs {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(client: S3Client, bucket: string, clock: Pick<Clock, 'now'>) {
    this.#client = client;
    this.#bucket = bucket;
    this.#clock = clock;
  }

  async put(scope: Scope, key: string, value: JsonValue, expiresAt: Instant): Promise<void> {
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: objectKey(scope, key),
      // A rule of the bucket deletes what has this tag. The days count from this very put, also where it replaces an earlier one.
      Tagging: `${payloadLifetimeTag}=${payloadLifetime(expiresAt, this.#clock.now())}`,
      Body: gzipSync(JSON.stringify(value)),
      ContentType: 'application/json',
      ContentEncoding: 'gzip',
    });
    await callService('the bucket', () => this.#client.send(command));
  }

  async get(scope: Scope, key: string): Promise<JsonValue | undefined> {
    const compressed = await this.#bytes(objectKey(scope, key));
    return compressed && readJson('an object of the bucket', jsonValue, gunzipSync(compressed).toString('utf8'));
  }

  async removeAll(scope: Scope, prefix: string): Promise<void> {
    for (;;) {
      const listing = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: objectKey(scope, prefix) });
      const found = await callService('the bucket', () => this.#client.send(listing));
      for (const { Key } of found.Contents ?? []) {
        await callService('the bucket', () => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key })));
      }
      // Asked again from the beginning: what was on this page is gone.
      if (found.IsTruncated !== true) return;
    }
  }

  async #bytes(key: string): Promise<Uint8Array | undefined> {
    try {
      return await callService('the bucket', async () => {
        const response = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key }));
        return response.Body?.transformToByteArray();
      });
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  }
}

const objectKey = (scope: Scope, key: string): string => `payloads/${scope.projectId}/${scope.environment}/${key}`;

/** The bucket notes the creation by a clock of its own. */
const maxClockSkew = minutes(15);

/**
 * The lifetime of a payload that is written now and needed until `expiresAt`. The bucket adds the days to the time of its creation,
 * goes on to the next midnight (UTC), and deletes: so never before `expiresAt`, and less than two days after it, up to 730 days.
 */
export function payloadLifetime(expiresAt: Instant, now: Instant): number {
  const dayOfCreation = Math.floor((now - maxClockSkew) / days(1));
  const needed = Math.ceil(expiresAt / days(1)) - dayOfCreation - 1;
  const lifetime = payloadLifetimes.find((each) => each >= needed);
  invariant(lifetime !== undefined, () => `no payload is kept for ${needed} days`);
  return lifetime;
}
