/** Large values as compressed objects of the bucket. */
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { defined } from '../base/defined.ts';
import { jsonValue } from '../codec/events.ts';
import { readJson } from '../codec/unreadable.ts';
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { Blobs } from '../ports/run-records.ts';
import { isUploadedKey } from '../ports/uploads.ts';
import type { Clock } from '../ports/clock.ts';
import { callService } from './call-service.ts';
import { lifetimeTag, payloadKey } from './payload-objects.ts';

/**
 * A commit of a wide fan-out stores or reads a thousand values. Each further request would wait for a socket, of which the SDK opens 50,
 * and may exceed the time to connect before it has one.
 */
export const maxConcurrentValues = 32;

/**
 * Of JSON: a value in memory takes several times as much, and the smallest function that executes nodes has 512 MB. A value that is larger
 * than the second limit is read each time.
 */
const maxCachedBytes = 4_194_304;
const maxCachedValueBytes = 1_048_576;

/** A key that ends with the digest of its value always has the same value. Other keys are not cached. */
const namesItsContent = (key: string): boolean => /\/[0-9a-f]{64}$/.test(key);

export class S3Blobs implements Blobs {
  readonly #inTurn = pLimit(maxConcurrentValues);
  /** What this process has stored or read, by the object's key: the next node of a run often reads what the last one stored or read. */
  readonly #kept = new LRUCache<string, { readonly value: JsonValue }>({
    maxSize: maxCachedBytes,
    maxEntrySize: maxCachedValueBytes,
  });
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(client: S3Client, bucket: string, clock: Pick<Clock, 'now'>) {
    this.#client = client;
    this.#bucket = bucket;
    this.#clock = clock;
  }

  async put(scope: Scope, key: string, value: JsonValue, expiresAt: Instant): Promise<void> {
    const { Body, length } = compressed(value);
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: payloadKey(scope, key),
      // A lifecycle rule deletes objects with this tag. The days count from this put, also if it replaces an object.
      Tagging: lifetimeTag(expiresAt, this.#clock.now()),
      Body,
      ...contentHeaders,
    });
    await this.#inTurn(() => callService('the bucket', () => this.#client.send(command)));
    this.#keep(scope, key, value, length);
  }

  async get(scope: Scope, key: string): Promise<JsonValue | undefined> {
    const kept = this.#kept.get(payloadKey(scope, key));
    if (kept !== undefined) return kept.value;
    const stored = await this.#bytes(payloadKey(scope, key));
    if (stored === undefined) return undefined;
    if (isUploadedKey(key)) return { $bytes: Buffer.from(stored).toString('base64') };
    const text = gunzipSync(stored).toString('utf8');
    const value = readJson('an object of the bucket', jsonValue, text);
    this.#keep(scope, key, value, text.length);
    return value;
  }

  #keep(scope: Scope, key: string, value: JsonValue, length: number): void {
    if (namesItsContent(key)) this.#kept.set(payloadKey(scope, key), { value }, { size: length });
  }

  async copy(scope: Scope, from: string, to: string, expiresAt: Instant): Promise<boolean> {
    try {
      await this.#copy(payloadKey(scope, from), payloadKey(scope, to), expiresAt);
      return true;
    } catch (error) {
      // The SDK has no class for this error of a copy.
      if (error instanceof S3ServiceException && error.name === 'NoSuchKey') return false;
      throw error;
    }
  }

  async extendAll(
    scope: Scope,
    prefix: string,
    expiresAt: Instant,
    { after, limit }: Parameters<Blobs['extendAll']>[3],
  ): Promise<string | undefined> {
    const Bucket = this.#bucket;
    const listing = new ListObjectsV2Command(
      defined({ Bucket, Prefix: payloadKey(scope, prefix), StartAfter: after, MaxKeys: limit }),
    );
    const found = await callService('the bucket', () => this.#client.send(listing));
    const keys = (found.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key]));
    // A copy onto itself: the lifetime of an object counts from its creation, and the copy is created now.
    for (const key of keys) await this.#copy(key, key, expiresAt);
    return found.IsTruncated === true ? keys.at(-1) : undefined;
  }

  async removeAll(scope: Scope, prefix: string): Promise<void> {
    for (const key of this.#kept.keys()) if (key.startsWith(payloadKey(scope, prefix))) this.#kept.delete(key);
    for (;;) {
      const listing = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: payloadKey(scope, prefix) });
      const found = await callService('the bucket', () => this.#client.send(listing));
      for (const { Key } of found.Contents ?? []) {
        await callService('the bucket', () => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key })));
      }
      // The next request lists from the start: the objects of this page are deleted.
      if (found.IsTruncated !== true) return;
    }
  }

  async #copy(from: string, to: string, expiresAt: Instant): Promise<void> {
    const copy = new CopyObjectCommand({
      Bucket: this.#bucket,
      Key: to,
      CopySource: `${this.#bucket}/${from.split('/').map(encodeURIComponent).join('/')}`,
      TaggingDirective: 'REPLACE',
      Tagging: lifetimeTag(expiresAt, this.#clock.now()),
      MetadataDirective: 'REPLACE',
      ...(isUploadedKey(to) ? uploadHeaders : contentHeaders),
    });
    await callService('the bucket', () => this.#client.send(copy));
  }

  async #bytes(key: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#inTurn(() =>
        callService('the bucket', async () => {
          const response = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key }));
          return response.Body?.transformToByteArray();
        }),
      );
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  }
}

/** A function of its own, so that the text of a large value does not stay in memory until the bucket has answered. */
function compressed(value: JsonValue): { readonly Body: Uint8Array; readonly length: number } {
  const text = JSON.stringify(value);
  return { Body: gzipSync(text), length: text.length };
}

const contentHeaders = { ContentType: 'application/json', ContentEncoding: 'gzip' } as const;

const uploadHeaders = { ContentType: 'application/octet-stream' } as const;
