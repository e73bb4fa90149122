/** Versions of large settings, in memory. */
import type { Instant } from '../engine/time.ts';
import type { SettingVersion, StandingVersion, StoredSettings } from '../ports/stored-settings.ts';

interface Kept extends SettingVersion {
  readonly expiresAt?: Instant;
}

export class MemoryStoredSettings implements StoredSettings {
  readonly #kept = new Map<string, Kept>();

  async text(setting: Omit<SettingVersion, 'text'>): Promise<string | undefined> {
    return this.#kept.get(keyOf(setting))?.text;
  }

  async put(setting: SettingVersion): Promise<void> {
    this.#kept.set(keyOf(setting), setting);
  }

  async versions(name: string): Promise<readonly StandingVersion[]> {
    return [...this.#kept.values()]
      .filter((kept) => kept.name === name)
      .map(({ version, expiresAt }) => ({ version, ...(expiresAt === undefined ? {} : { expiresAt }) }));
  }

  async expire(setting: Omit<SettingVersion, 'text'>, at: Instant): Promise<void> {
    const kept = this.#kept.get(keyOf(setting));
    if (kept !== undefined) this.#kept.set(keyOf(setting), { ...kept, expiresAt: at });
  }
}

const keyOf = ({ name, version }: Omit<SettingVersion, 'text'>): string => `${name} ${version}`;
