/** Contract of `Blobs`. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { Blobs } from '../../lib/ports/run-records.ts';
import { expiresAt, freshScope } from './samples.ts';
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
    test.for(values)('%s is read as it was stored', async ([, value]) => {
      const scope = freshScope();
      await blobs.put(scope, 'run/value', value, expiresAt);
      expect(await blobs.get(scope, 'run/value')).toEqual(value);
    });

    test('a repeated put changes nothing', async () => {
      const scope = freshScope();
      for (let count = 0; count < 2; count += 1) await blobs.put(scope, 'key', [1, 2], expiresAt);
      expect(await blobs.get(scope, 'key')).toEqual([1, 2]);
    });

    test('removeAll deletes the values with the prefix, and no others of this or another scope', async () => {
      const [scope, other] = [freshScope(), freshScope()];
      for (const key of ['run1/a', 'run1/b', 'run10/a']) await blobs.put(scope, key, key, expiresAt);
      await blobs.put(other, 'run1/a', 'theirs', expiresAt);
      for (let count = 0; count < 2; count += 1) await blobs.removeAll(scope, 'run1/');
      expect(await Promise.all(['run1/a', 'run1/b', 'run10/a'].map((key) => blobs.get(scope, key)))).toEqual([
        undefined,
        undefined,
        'run10/a',
      ]);
      expect(await blobs.get(other, 'run1/a')).toBe('theirs');
    });

    test('extendAll goes through the values with the prefix page by page, and they stay readable', async () => {
      const scope = freshScope();
      const keys = ['run1/a', 'run1/b b', 'run1/c', 'run10/a'];
      for (const key of keys) await blobs.put(scope, key, key, expiresAt);
      const positions: (string | undefined)[] = [];
      for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const page = { limit: 2, ...(after === undefined ? {} : { after }) };
        after = await blobs.extendAll(scope, 'run1/', instant(expiresAt + 86_400_000), page);
        positions.push(after);
      }
      expect(positions).toEqual([expect.any(String), undefined]);
      expect(await Promise.all(keys.map((key) => blobs.get(scope, key)))).toEqual(keys);
    });

    test('a copy is a value of its own', async () => {
      const scope = freshScope();
      await blobs.put(scope, 'run1/a b', [1], expiresAt);
      for (let count = 0; count < 2; count += 1)
        expect(await blobs.copy(scope, 'run1/a b', 'run2/c', instant(expiresAt + 86_400_000))).toBe(true);
      await blobs.removeAll(scope, 'run1/');
      expect(await blobs.get(scope, 'run2/c')).toEqual([1]);
    });

    test('nothing is copied from a key without a value, also if another scope has it', async () => {
      const scope = freshScope();
      await blobs.put(freshScope(), 'run1/a', [1], expiresAt);
      expect(await blobs.copy(scope, 'run1/a', 'run2/a', expiresAt)).toBe(false);
      expect(await blobs.get(scope, 'run2/a')).toBeUndefined();
    });

    test('a key without a value is undefined, also if another scope has it', async () => {
      const scope = freshScope();
      await blobs.put(scope, 'key', 1, expiresAt);
      expect(await blobs.get(scope, 'ke')).toBeUndefined();
      expect(await blobs.get(freshScope(), 'key')).toBeUndefined();
      expect(await blobs.get({ ...scope, environment: environment('staging') }, 'key')).toBeUndefined();
    });
  });
