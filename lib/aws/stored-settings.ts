/** Stored settings in the control table: one partition for each setting, one item for each version. */
import * as z from 'zod';
import { instant } from '../codec/ids.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Instant } from '../engine/time.ts';
import type { SettingVersion, StoredVersion, StoredSettings } from '../ports/stored-settings.ts';
import { expiry, numberAttribute, text, anyString, optional, named, keyPart, itemSchema, partSchema } from './item-schema.ts';
import { type Key, type Table, allOf, ifExists } from './table.ts';

type Named = Omit<SettingVersion, 'text'>;

const keyOf = ({ name, version }: Named): Key => ({ pk: partitionOf('setting', name), sk: version });

export class DynamoStoredSettings implements StoredSettings {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async text(setting: Named): Promise<string | undefined> {
    const item = await this.#table.get(keyOf(setting));
    return item && settingItem.decode(item).text;
  }

  async put({ text: content, ...setting }: SettingVersion): Promise<void> {
    await this.#table.put(keyOf(setting), settingItem.encode({ text: content }));
  }

  async versions(name: string): Promise<readonly StoredVersion[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: '#pk = :pk',
      ProjectionExpression: '#sk, #ttl',
      ExpressionAttributeNames: {
        '#pk': controlTableKeys.partition,
        '#sk': controlTableKeys.sort,
        '#ttl': controlTableKeys.expiry,
      },
      ExpressionAttributeValues: { ':pk': text(partitionOf('setting', name)) },
    });
    return (await allOf(items)).map(storedVersionItem.decode);
  }

  async expire(setting: Named, at: Instant): Promise<void> {
    const change = {
      expression: 'SET #ttl = :at',
      names: { '#ttl': controlTableKeys.expiry },
      values: { ':at': expiry(at) },
    };
    await this.#table.update(keyOf(setting), change, ifExists);
  }
}

const settingItem = itemSchema('a version of a setting', { text: anyString });

const storedVersionItem = partSchema('a version of a setting', {
  version: keyPart('sk', z.string()),
  expiresAt: named(
    controlTableKeys.expiry,
    optional<Instant>({ encode: expiry, parse: numberAttribute.transform((seconds) => seconds * 1_000).pipe(instant) }),
  ),
});
