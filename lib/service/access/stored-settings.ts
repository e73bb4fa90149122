/**
 * Large settings of the installation. A deployment stores a version of each setting, and a function reads the version that its
 * environment variables name. So functions of two deployments read their own versions, even during a deployment or a rollback.
 */
import { after, days } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SettingVersion, StoredSettings } from '../../ports/stored-settings.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** How long a version stays readable after the last deployment that names it, for processes that still use it. */
export const expiryGrace = days(30);

/**
 * Writes the versions of a deployment, then sets older versions to expire. The previous deployment's versions stay, because
 * CloudFormation may roll back to them without writing them again.
 */
export async function saveSettings(
  { settings, clock }: { readonly settings: StoredSettings; readonly clock: Pick<Clock, 'now'> },
  required: readonly SettingVersion[],
  previous: readonly Omit<SettingVersion, 'text'>[],
): Promise<void> {
  for (const setting of required) await settings.put(setting);
  for (const { name, version } of required) {
    const needed = new Set([version, ...previous.filter((old) => old.name === name).map((old) => old.version)]);
    for (const stored of await settings.versions(name)) {
      if (stored.expiresAt !== undefined || needed.has(stored.version)) continue;
      await settings.expire({ name, version: stored.version }, after(clock.now(), expiryGrace));
    }
  }
}

/**
 * Reads a setting at its first use and caches it for the life of the process, because the process's version never changes.
 * @throws Unavailable if it cannot be read now; the next call reads again
 */
export function settingReader<Value>(
  settings: () => StoredSettings,
  name: string,
  { version, parse }: { readonly version: () => string; readonly parse: (text: string) => Value },
): () => Promise<Value> {
  let cachedValue: Promise<Value> | undefined;
  const read = async (): Promise<Value> => {
    const setting = { name, version: version() };
    const text = await settings().text(setting);
    if (text === undefined) throw new Unavailable(`the setting ${name}`, { cause: missing(setting) });
    return parse(text);
  };
  return () => {
    const pending = (cachedValue ??= read());
    pending.catch(() => {
      if (cachedValue === pending) cachedValue = undefined;
    });
    return pending;
  };
}

const missing = ({ name, version }: Omit<SettingVersion, 'text'>): Error =>
  new Error(
    `the control table has no version ${version} of the setting ${name}: deploy again, and start your own worker processes with the environment variables of that deployment`,
  );
