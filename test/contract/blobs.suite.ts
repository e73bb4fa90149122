/** What every store of large values must keep. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { Blobs } from '../../lib/ports/blobs.ts';
import { freshScope } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export const blobsSuite = ({ name, open }: Subject<Blobs>) =>
  describe(`blobs: ${name}`, () => {
    let opened: Opened<Blobs>;
    let blobs: Blobs;
    beforeAll(async () => {
      opened = await open();
      blobs = opened.port;
    });
    afterAll(() => opened.close());

    const values: readonly (readonly [string, JsonValue])[] = [
      ['null', null],
      ['nothing in it', {}],
      ['text', 'Zürich 🚄'],
      ['two megabytes', { bytes: randomBytes(1_500_000).toString('base64') }],
    ];
    test.for(values)('%s comes back as it was stored', async ([, value]) => {
      const scope = freshScope();
      await blobs.put(scope, 'run/value', value);
      expect(await blobs.get(scope, 'run/value')).toEqual(value);
    });

    test('storing the same again changes nothing', async () => {
      const scope = freshScope();
      for (let count = 0; count < 2; count += 1) await blobs.put(scope, 'key', [1, 2]);
      expect(await blobs.get(scope, 'key')).toEqual([1, 2]);
    });

    test('a key under which nothing is stored has no value, in this scope or another', async () => {
      const scope = freshScope();
      await blobs.put(scope, 'key', 1);
      expect(await blobs.get(scope, 'ke')).toBeUndefined();
      expect(await blobs.get(freshScope(), 'key')).toBeUndefined();
      expect(await blobs.get({ ...scope, environment: environment('staging') }, 'key')).toBeUndefined();
    });
  });
