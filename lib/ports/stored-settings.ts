/** Versions of the settings of the installation that are too large for environment variables. */
import type { Instant } from '../engine/time.ts';

export interface SettingVersion {
  readonly name: string;
  /** digest of the setting as the synthesis knew it */
  readonly version: string;
  /** JSON; it holds no secret */
  readonly text: string;
}

export interface StoredVersion {
  readonly version: string;
  /** absent: it stays */
  readonly expiresAt?: Instant;
}

/** Every read is strong. */
export interface StoredSettings {
  /** Undefined where there is no such version. */
  text(setting: Omit<SettingVersion, 'text'>): Promise<string | undefined>;
  /** Writes a version that stays, also where it was about to expire. */
  put(setting: SettingVersion): Promise<void>;
  versions(name: string): Promise<readonly StoredVersion[]>;
  /** Lets a version go at that time. Does nothing where there is none. */
  expire(setting: Omit<SettingVersion, 'text'>, at: Instant): Promise<void>;
}
