/** The texts of the large settings with their versions. */
import { createHash } from 'node:crypto';
import { Lazy, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { type StoredSettingName, storedSettingNames } from '../contract/stored-settings.ts';

export interface StoredSetting {
  readonly name: StoredSettingName;
  readonly version: string;
  /** read at the end of the synthesis, because triggers are added until then */
  readonly text: string;
}

/** Hex digits of a version: 128 bits, so that collisions do not occur in practice. */
const versionLength = 32;

/**
 * The version is a digest of the text, so an unchanged setting keeps its version. It is known at the end of the synthesis, as the values of
 * the CDK's lazy tokens. With tokens of the deployment, it is the digest of the unresolved expression. If only the resolved value changes,
 * functions read it at their next cold start.
 */
export function storedSettingsOf(
  scope: Construct,
  settings: Readonly<Record<StoredSettingName, unknown>>,
): readonly StoredSetting[] {
  return storedSettingNames.map((name) => {
    const textOf = (): string => JSON.stringify(settings[name]);
    const digest = (): string => {
      const resolvedText = JSON.stringify(Stack.of(scope).resolve(textOf()));
      return createHash('sha256').update(resolvedText).digest('hex').slice(0, versionLength);
    };
    return {
      name,
      get text() {
        return textOf();
      },
      version: Lazy.uncachedString({ produce: digest }),
    };
  });
}
