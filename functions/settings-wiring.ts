/** Reads large settings from the control table, in the version that the function's environment names. */
import type * as z from 'zod';
import { dynamoClient } from '../lib/aws/clients.ts';
import { settingsFrom } from '../lib/aws/environment.ts';
import { DynamoStoredSettings } from '../lib/aws/stored-settings.ts';
import { Table } from '../lib/aws/table.ts';
import { readJson } from '../lib/codec/unreadable.ts';
import type { StoredSettingName } from '../lib/contract/stored-settings.ts';
import type { StoredSettings } from '../lib/ports/stored-settings.ts';
import { settingReader } from '../lib/service/access/stored-settings.ts';

export const storedSettings = (): StoredSettings =>
  new DynamoStoredSettings(new Table(dynamoClient(), settingsFrom(process.env).controlTable));

/** Reads the setting on first use: most processes never need it. */
export const storedSetting = <Value>(name: StoredSettingName, schema: z.ZodType<Value>): (() => Promise<Value>) =>
  settingReader(storedSettings, name, {
    version: () => settingsFrom(process.env)[name],
    parse: (text) => readJson(`the setting ${name}`, schema, text),
  });
