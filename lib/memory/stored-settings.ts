/** Versions of large settings, in memory. */
import { defined } from '../base/defined.ts';
import type { Instant } from '../engine/time.ts';
import type { SettingVersion, StoredVersion, StoredSettings } from '../ports/stored-settings.ts';

interface StoredSetting extends SettingVersion {
  readonly expiresAt?: Instant;
}

export class MemoryStoredSettings implements StoredSettings {
  readonly #settings = new Map<string, StoredSetting>();

  async text(setting: Omit<SettingVersion, 'text'>): Promise<string | undefined> {
    return this.#settings.get(keyOf(setting))?.text;
  }

  async put(setting: SettingVersion): Promise<void> {
    this.#settings.set(keyOf(setting), setting);
  }

  async versions(name: string): Promise<readonly StoredVersion[]> {
    return [...this.#settings.values()]
      .filter((stored) => stored.name === name)
      .map(({ version, expiresAt }) => defined({ version, expiresAt }));
  }

  async expire(setting: Omit<SettingVersion, 'text'>, at: Instant): Promise<void> {
    const stored = this.#settings.get(keyOf(setting));
    if (stored !== undefined) this.#settings.set(keyOf(setting), { ...stored, expiresAt: at });
  }
}

const keyOf = ({ name, version }: Omit<SettingVersion, 'text'>): string => `${name} ${version}`;
