/** Stored settings in the control table: one partition for each setting, one item for each version. */
import { defined } from '../base/defined.ts';
import * as z from 'zod';
import { instant } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import { controlTableKeys } from '../contract/environment.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { Instant } from '../engine/time.ts';
import type { SettingVersion, StoredVersion, StoredSettings } from '../ports/stored-settings.ts';
import { type Item, expiry, numberAttribute, text, textAttribute, itemVersion, itemVersionAttribute } from './item-schema.ts';
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
    return item && read('a version of a setting', settingItem, item).text;
  }

  async put({ text: value, ...setting }: SettingVersion): Promise<void> {
    await this.#table.put(keyOf(setting), { v: itemVersion, text: text(value) });
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
    return (await allOf(items)).map(storedVersionIn);
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

const settingItem = z.object({ v: itemVersionAttribute, text: textAttribute });

const storedVersionItem = z.object({ sk: textAttribute, ttl: numberAttribute.exactOptional() });
const storedVersionIn = (item: Item): StoredVersion => {
  const { sk, ttl } = read('a version of a setting', storedVersionItem, item);
  return defined({ version: sk, expiresAt: ttl === undefined ? undefined : instant.parse(ttl * 1_000) });
};
