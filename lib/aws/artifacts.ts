/** Archives of deployments as objects of the bucket. Clients upload them directly, with a presigned URL. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Instant } from '../engine/time.ts';
import type { ArtifactName, Artifacts, PresignedUpload } from '../ports/deployments.ts';
import type { Clock } from '../ports/clock.ts';
import { callService } from './call-service.ts';

const digestHeader = 'x-amz-checksum-sha256';

export class S3Artifacts implements Artifacts {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #clock: Clock;

  constructor(client: S3Client, bucket: string, clock: Clock) {
    this.#client = client;
    this.#bucket = bucket;
    this.#clock = clock;
  }

  async presignUpload(name: ArtifactName, bytes: number, expiresAt: Instant): Promise<PresignedUpload> {
    const now = this.#clock.now();
    const command = new PutObjectCommand({ ...this.#object(name), ContentLength: bytes });
    const url = await getSignedUrl(this.#client, command, {
      expiresIn: Math.max(1, Math.floor((expiresAt - now) / 1_000)),
      signingDate: new Date(now),
      // Signed as a header, not in the query: the client must then send it, and S3 verifies the body against it.
      unhoistableHeaders: new Set([digestHeader]),
      signableHeaders: new Set(['host', 'content-length', digestHeader]),
    });
    const headers = { 'content-length': String(bytes), [digestHeader]: base64(name.sha256) };
    return { method: 'PUT', url, headers, expiresAt };
  }

  async put(name: ArtifactName, content: Uint8Array): Promise<void> {
    await callService('the bucket', () => this.#client.send(new PutObjectCommand({ ...this.#object(name), Body: content })));
  }

  async read(name: ArtifactName, maxBytes: number): Promise<Uint8Array | 'too_large' | undefined> {
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: objectKey(name) });
    try {
      return await callService('the bucket', async () => {
        const { Body: body, ContentLength: bytes = 0 } = await this.#client.send(command);
        if (bytes <= maxBytes) return body?.transformToByteArray();
        await body?.transformToWebStream().cancel();
        return 'too_large';
      });
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  }

  async remove(name: ArtifactName): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: objectKey(name) });
    await callService('the bucket', () => this.#client.send(command));
  }

  #object(name: ArtifactName): PutObjectCommandInput {
    return {
      Bucket: this.#bucket,
      Key: objectKey(name),
      ChecksumSHA256: base64(name.sha256),
    };
  }
}

const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');

const objectKey = ({ scope, deploymentId, sha256 }: ArtifactName): string =>
  `artifacts/${scope.projectId}/${scope.environment}/${deploymentId}/${sha256}.tgz`;
