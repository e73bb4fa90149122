/** Contract of `Artifacts`. */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Scope, deploymentId, environment } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import type { ArtifactName, Artifacts } from '../../lib/ports/deployments.ts';
import type { PresignedUpload } from '../../lib/ports/uploads.ts';
import { freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface ArtifactsUnderTest {
  readonly artifacts: Artifacts;
  /** Sends the bytes to the presigned upload. */
  upload(upload: PresignedUpload, content: Uint8Array): Promise<void>;
}

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

export const artifactNameFor = (content: Uint8Array, scope: Scope = freshScope(), id = 'dep_1'): ArtifactName => ({
  scope,
  deploymentId: deploymentId(id),
  sha256: sha256(content),
});

export const artifactsSuite = ({ name, open }: Subject<ArtifactsUnderTest>) =>
  describe(`artifacts: ${name}`, () => {
    let opened: Opened<ArtifactsUnderTest>;
    let artifacts: Artifacts;
    beforeAll(async () => {
      opened = await open();
      artifacts = opened.port.artifacts;
    });
    afterAll(() => opened.close());

    const content = new Uint8Array(randomBytes(300_000));
    const bytesOf = (read: Uint8Array | 'too_large' | undefined) =>
      read === undefined || read === 'too_large' ? read : Buffer.from(read).toString('base64');
    const same = Buffer.from(content).toString('base64');

    test('an archive is read as it was put, and only under its name', async () => {
      const of = artifactNameFor(content);
      expect(await artifacts.read(of, content.byteLength)).toBeUndefined();
      for (let count = 0; count < 2; count += 1) await artifacts.put(of, content);
      expect(bytesOf(await artifacts.read(of, content.byteLength))).toBe(same);
      const others: readonly ArtifactName[] = [
        { ...of, scope: { ...of.scope, environment: environment('staging') } },
        { ...of, scope: freshScope() },
        { ...of, deploymentId: deploymentId('dep_2') },
        { ...of, sha256: 'ab'.repeat(32) },
      ];
      for (const other of others) expect(await artifacts.read(other, content.byteLength)).toBeUndefined();
    });

    test('an archive larger than the limit is not read', async () => {
      const of = artifactNameFor(content);
      await artifacts.put(of, content);
      expect(await artifacts.read(of, content.byteLength - 1)).toBe('too_large');
      expect(bytesOf(await artifacts.read(of, content.byteLength + 1))).toBe(same);
    });

    test('a removed archive is not found, and a repeated removal succeeds', async () => {
      const of = artifactNameFor(content);
      await artifacts.put(of, content);
      for (let count = 0; count < 2; count += 1) await artifacts.remove(of);
      expect(await artifacts.read(of, content.byteLength)).toBeUndefined();
    });

    test('an upload through a presigned URL stores the archive', async () => {
      const of = artifactNameFor(content);
      const expiresAt = after(noon, minutes(15));
      const upload = await artifacts.presignUpload(of, content.byteLength, expiresAt);
      expect(upload).toMatchObject({ method: 'PUT', expiresAt });
      await opened.port.upload(upload, content);
      expect(bytesOf(await artifacts.read(of, content.byteLength))).toBe(same);
    });
  });
