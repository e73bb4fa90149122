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
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Blobs } from '../ports/blobs.ts';
import { reach } from './reach.ts';

export class S3Blobs implements Blobs {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(client: S3Client, bucket: string) {
    this.#client = client;
    this.#bucket = bucket;
  }

  async put(scope: Scope, key: string, value: JsonValue): Promise<void> {
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: objectKey(scope, key),
      Body: gzipSync(JSON.stringify(value)),
      ContentType: 'application/json',
      ContentEncoding: 'gzip',
    });
    await reach('the bucket', () => this.#client.send(command));
  }

  async get(scope: Scope, key: string): Promise<JsonValue | undefined> {
    const compressed = await this.#bytes(objectKey(scope, key));
    return compressed && readJson('an object of the bucket', jsonValue, gunzipSync(compressed).toString('utf8'));
  }

  async removeAll(scope: Scope, prefix: string): Promise<void> {
    for (;;) {
      const listing = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: objectKey(scope, prefix) });
      const found = await reach('the bucket', () => this.#client.send(listing));
      for (const { Key } of found.Contents ?? []) {
        await reach('the bucket', () => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key })));
      }
      // Asked again from the beginning: what was on this page is gone.
      if (found.IsTruncated !== true) return;
    }
  }

  async #bytes(key: string): Promise<Uint8Array | undefined> {
    try {
      return await reach('the bucket', async () => {
        const answer = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key }));
        return answer.Body?.transformToByteArray();
      });
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  }
}

const objectKey = (scope: Scope, key: string): string => `payloads/${scope.projectId}/${scope.environment}/${key}`;
