/** The texts of the large settings with their versions. */
import { createHash } from 'node:crypto';
import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { type StoredSettingName, storedSettingNames } from '../contract/stored-settings.ts';

export interface StoredSetting {
  readonly name: StoredSettingName;
  readonly version: string;
  readonly text: string;
}

/** Hex digits of a version: 128 bits, so that collisions do not occur in practice. */
const versionLength = 32;

/**
 * The version is a digest of the text, so an unchanged setting keeps its version. With tokens, it is the digest of the unresolved
 * expression. If only the resolved value changes, functions read it at their next cold start.
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
