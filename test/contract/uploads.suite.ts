/** Contract of `Uploads`, with the values of `Blobs` that they are. */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Blobs } from '../../lib/ports/run-records.ts';
import { type PresignedUpload, type Uploads, uploadedKey } from '../../lib/ports/uploads.ts';
import { expiresAt, freshScope } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface UploadsUnderTest {
  readonly blobs: Blobs;
  readonly uploads: Uploads;
  /** Sends the bytes to the presigned upload. @returns whether they were stored */
  send(upload: PresignedUpload, content: Uint8Array): Promise<void>;
  /** undefined: there is nothing at the address */
  fetch(url: string): Promise<Uint8Array | undefined>;
}

export const uploadsSuite = ({ name, open, now }: Subject<UploadsUnderTest> & { readonly now: () => number }) =>
  describe(`uploads: ${name}`, () => {
    let opened: Opened<UploadsUnderTest>;
    let under: UploadsUnderTest;
    beforeAll(async () => {
      opened = await open();
      under = opened.port;
    });
    afterAll(() => opened.close());

    const content = new Uint8Array(randomBytes(300_000));
    const sha256 = createHash('sha256').update(content).digest('hex');
    const terms = () => ({ expiresAt: instant(now() + 900_000), keptUntil: instant(now() + 86_400_000) });
    const uploaded = async () => {
      const scope = freshScope();
      const upload = await under.uploads.presignUpload(scope, 'run/upload', { sha256, bytes: content.byteLength }, terms());
      await under.send(upload, content);
      return scope;
    };

    test('uploaded bytes are kept by a copy, as a value and at an address', async () => {
      const { blobs, uploads } = under;
      const scope = await uploaded();
      const key = uploadedKey('run/', sha256);
      expect(await blobs.copy(scope, 'run/upload', key, expiresAt)).toBe(true);
      const base64 = Buffer.from(content).toString('base64');
      expect(await blobs.get(scope, key)).toEqual({ $bytes: base64 });
      const found = await under.fetch(await uploads.presignDownload(scope, key, terms().expiresAt));
      expect(Buffer.from(found ?? []).toString('base64')).toBe(base64);
    });

    test('they stay readable when their expiry moves', async () => {
      const { blobs, uploads } = under;
      const scope = await uploaded();
      const key = uploadedKey('run/', sha256);
      await blobs.copy(scope, 'run/upload', key, expiresAt);
      await blobs.extendAll(scope, 'run/', instant(expiresAt + 86_400_000), { limit: 10 });
      const found = await under.fetch(await uploads.presignDownload(scope, key, terms().expiresAt));
      expect(found?.byteLength).toBe(content.byteLength);
      expect(await blobs.get(scope, key)).toEqual({ $bytes: Buffer.from(content).toString('base64') });
    });

    test('another value is its text at an address', async () => {
      const { blobs, uploads } = under;
      const scope = freshScope();
      await blobs.put(scope, 'run/value', { text: 'Zürich' }, expiresAt);
      const found = await under.fetch(await uploads.presignDownload(scope, 'run/value', terms().expiresAt));
      expect(Buffer.from(found ?? []).toString('utf8')).toBe('{"text":"Zürich"}');
    });

    test('an address is of one scope and one key', async () => {
      const { blobs, uploads } = under;
      const scope = await uploaded();
      for (const other of [{ ...scope, environment: environment('staging') }, freshScope()]) {
        expect(await blobs.copy(other, 'run/upload', 'run/copy', expiresAt)).toBe(false);
        expect(await under.fetch(await uploads.presignDownload(other, 'run/upload', terms().expiresAt))).toBeUndefined();
      }
    });
  });
