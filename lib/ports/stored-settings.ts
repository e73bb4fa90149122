/** Installation settings that are too large for environment variables, stored in versions. */
import type { Instant } from '../engine/time.ts';

export interface SettingVersion {
  readonly name: string;
  /** digest of the setting at synthesis */
  readonly version: string;
  /** JSON without secrets */
  readonly text: string;
}

export interface StoredVersion {
  readonly version: string;
  /** absent: the version does not expire */
  readonly expiresAt?: Instant;
}

/** Every read is strongly consistent. */
export interface StoredSettings {
  /** Undefined if the version does not exist. */
  text(setting: Omit<SettingVersion, 'text'>): Promise<string | undefined>;
  /** Writes a version without an expiry, also over one that has an expiry. */
  put(setting: SettingVersion): Promise<void>;
  versions(name: string): Promise<readonly StoredVersion[]>;
  /** Sets the expiry of a version. Does nothing if it does not exist. */
  expire(setting: Omit<SettingVersion, 'text'>, at: Instant): Promise<void>;
}
