/** Large settings: which versions a deployment keeps, and how a function reads its version. */
import { expect, test } from 'vitest';
import { days, instant } from '../../../lib/engine/time.ts';
import { MemoryClock } from '../../../lib/memory/clock.ts';
import { MemoryStoredSettings } from '../../../lib/memory/stored-settings.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { saveSettings, settingReader } from '../../../lib/service/access/stored-settings.ts';

const of = (version: string) => ({ name: 'webhooks', version, text: JSON.stringify(version) }) as const;

const installation = () => {
  const settings = new MemoryStoredSettings();
  const clock = new MemoryClock(instant(Date.parse('2026-01-01T00:00:00Z')));
  let previous: string | undefined;
  const deploy = async (version: string): Promise<void> => {
    await saveSettings({ settings, clock }, [of(version)], previous === undefined ? [] : [of(previous)]);
    previous = version;
  };
  const reader = (version: string) =>
    settingReader(() => settings, 'webhooks', { version: () => version, parse: (text): unknown => JSON.parse(text) });
  const unexpired = async () =>
    (await settings.versions('webhooks')).filter(({ expiresAt }) => expiresAt === undefined).map(({ version }) => version);
  return { settings, clock, deploy, reader, unexpired };
};

test('functions of two deployments each read their own version', async () => {
  const { deploy, reader } = installation();
  await deploy('1');
  await deploy('2');
  expect([await reader('1')(), await reader('2')()]).toEqual(['1', '2']);
});

test('the version of the previous deployment stays, and older versions expire after 30 days', async () => {
  const { settings, clock, deploy, unexpired } = installation();
  await deploy('1');
  await deploy('2');
  expect(await unexpired()).toEqual(['1', '2']);
  await deploy('3');
  expect(await unexpired()).toEqual(['2', '3']);
  expect(await settings.versions('webhooks')).toContainEqual({ version: '1', expiresAt: clock.now() + days(30) });
});

test('a rollback keeps its version, and does not extend the expiry of other versions', async () => {
  const { settings, clock, deploy, unexpired } = installation();
  for (const version of ['1', '2', '3']) await deploy(version);
  const expiresAt = clock.now() + days(30);
  clock.advance(days(5));
  await deploy('2');
  expect(await settings.versions('webhooks')).toContainEqual({ version: '1', expiresAt });
  expect(await unexpired()).toEqual(['2', '3']);
  await deploy('1');
  expect(await unexpired()).toEqual(['2', '1'].toSorted());
});

test('a process reads its version once for any number of callers', async () => {
  const { settings, deploy, reader } = installation();
  await deploy('1');
  const read = reader('1');
  const first = await Promise.all([read(), read()]);
  await settings.put({ ...of('1'), text: '"changed"' });
  expect([...first, await read()]).toEqual(['1', '1', '1']);
});

test('a missing version is unavailable with a message that says what to do, and is read once it exists', async () => {
  const { deploy, reader } = installation();
  const read = reader('1');
  const failed: unknown = await read().catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Unavailable);
  expect(String(failed instanceof Error ? failed.cause : '')).toMatch(/no version 1 of the setting webhooks: deploy again/);
  await deploy('1');
  expect(await read()).toBe('1');
});
