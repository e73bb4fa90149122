/** Contract of `StoredSettings`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storedSettingNames } from '../../lib/contract/stored-settings.ts';
import type { StoredSettings } from '../../lib/ports/stored-settings.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Opened, Subject } from './subject.ts';

/** DynamoDB's expiry has whole seconds. */
const expiresAt = instant(Date.parse('2027-01-01T00:00:00Z'));

export const storedSettingsSuite = ({ name: of, open }: Subject<StoredSettings>) =>
  describe(`stored settings: ${of}`, () => {
    let opened: Opened<StoredSettings>;
    let settings: StoredSettings;
    beforeAll(async () => {
      opened = await open();
      settings = opened.port;
    });
    afterAll(() => opened.close());

    test('a missing version is undefined', async () => {
      expect(await settings.text({ name: 'webhooks', version: 'none' })).toBeUndefined();
      expect(await settings.versions('webhooks')).toEqual([]);
    });

    test('versions of a setting, and settings with the same version, are separate', async () => {
      for (const name of storedSettingNames) {
        await settings.put({ name, version: 'one', text: `"${name} one"` });
        await settings.put({ name, version: 'two', text: `"${name} two"` });
      }
      for (const name of storedSettingNames) {
        expect(await settings.text({ name, version: 'one' })).toBe(`"${name} one"`);
        expect(await settings.text({ name, version: 'two' })).toBe(`"${name} two"`);
        expect((await settings.versions(name)).map(({ version }) => version).toSorted()).toEqual(['one', 'two']);
      }
    });

    test('a version has the expiry that was set, and a repeated put removes it', async () => {
      const setting = { name: 'databases', version: 'leaves' } as const;
      await settings.expire(setting, expiresAt);
      expect((await settings.versions('databases')).map(({ version }) => version)).not.toContain('leaves');
      await settings.put({ ...setting, text: '{}' });
      await settings.expire(setting, expiresAt);
      expect(await settings.versions('databases')).toContainEqual({ version: 'leaves', expiresAt });
      await settings.put({ ...setting, text: '{"a":1}' });
      expect(await settings.versions('databases')).toContainEqual({ version: 'leaves' });
      expect(await settings.text(setting)).toBe('{"a":1}');
    });

    test('a setting of 350,000 bytes is read completely', async () => {
      const setting = { name: 'models', version: 'large', text: JSON.stringify('x'.repeat(350_000)) } as const;
      await settings.put(setting);
      expect(await settings.text(setting)).toBe(setting.text);
    });
  });
