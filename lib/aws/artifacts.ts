/** Archives of deployments as objects of the bucket. Clients upload them directly, with a presigned URL. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { Instant } from '../engine/time.ts';
import type { ArtifactName, Artifacts } from '../ports/deployments.ts';
import type { Clock } from '../ports/clock.ts';
import type { PresignedUpload } from '../ports/uploads.ts';
import { callService } from './call-service.ts';
import { base64OfHex, presignPut } from './presign.ts';

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
    const object = { Bucket: this.#bucket, Key: objectKey(name) };
    return presignPut(this.#client, object, { sha256: name.sha256, bytes }, { now: this.#clock.now(), expiresAt });
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
      ChecksumSHA256: base64OfHex(name.sha256),
    };
  }
}

const objectKey = ({ scope, deploymentId, sha256 }: ArtifactName): string =>
  `artifacts/${scope.projectId}/${scope.environment}/${deploymentId}/${sha256}.tgz`;
