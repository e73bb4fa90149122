/** The large settings of a deployment: the text that the custom resource writes, and the version that the functions are told. */
import { createHash } from 'node:crypto';
import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { type StoredSettingName, storedSettingNames } from '../contract/stored-settings.ts';

export interface StoredSetting {
  readonly name: StoredSettingName;
  readonly version: string;
  readonly text: string;
}

/** In hex digits: 128 bits, so that two texts never share a version by chance. */
const versionLength = 32;

/**
 * A version is a digest, so an unchanged setting keeps it. A text with tokens, which only a deployment resolves, has the digest of
 * its expression: what it resolves to may change while the version stays, and then functions see it at their next cold start.
 */
export function storedSettingsOf(
  scope: Construct,
  settings: Readonly<Record<StoredSettingName, unknown>>,
): readonly StoredSetting[] {
  return storedSettingNames.map((name) => {
    const text = JSON.stringify(settings[name]);
    const resolvedText = JSON.stringify(Stack.of(scope).resolve(text));
    return { name, text, version: createHash('sha256').update(resolvedText).digest('hex').slice(0, versionLength) };
  });
}
