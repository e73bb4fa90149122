/**
 * Large settings of the installation: the deployment keeps a version of each, and a function reads the version that its
 * environment names. So functions of two deployments each read their own, also while one replaces the other or is rolled back.
 */
import { after, days } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SettingVersion, StoredSettings } from '../../ports/stored-settings.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** How long a version that no deployment names any more is kept for processes that still run with it. */
const expiryGrace = days(30);

/**
 * Writes the versions of a deployment, then lets older ones expire. The version of the deployment before stays: CloudFormation may
 * roll back to it without asking for it again.
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
 * Reads a setting when it is first asked for, and keeps it while the process lives: the version never changes for it.
 * @throws Unavailable where it cannot be read now; whoever asks next reads again
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
    `the control table has no version ${version} of the setting ${name}: deploy again, and start processes of your own with the variables of that deployment`,
  );
