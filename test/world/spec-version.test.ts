/** The spec version comes from the SDK of the application's folder, and settings come from its environment. */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { createWorld } from '../../lib/world/index.ts';
import { connectionOf } from '../../lib/world/settings.ts';
import { findSpecVersion } from '../../lib/world/spec-version.ts';

afterEach(() => vi.unstubAllEnvs());

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'spec-version-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

const world = (folder: string, version: string, source: string): Readonly<Record<string, string>> => ({
  [`${folder}/package.json`]: JSON.stringify({ version, type: 'module' }),
  [`${folder}/dist/spec-version.js`]: source,
});
const installed = (source: string, version = '5.0.0') => folderWith(world('node_modules/@workflow/world', version, source));

test.each([
  ['the current version', 'export const SPEC_VERSION_CURRENT = 3;', 3],
  ['the version that it stamps', 'export const SPEC_VERSION_CURRENT = 7; export const mintedSpecVersion = () => 6;', 6],
])('an SDK gives %s', (_what, source, expected) => {
  expect(findSpecVersion(installed(source), {})).toBe(expected);
});

test('the copy that the runtime uses comes before the one beside it', () => {
  const folder = folderWith({
    ...world('node_modules/@workflow/world', '5.0.0', 'export const SPEC_VERSION_CURRENT = 5;'),
    ...world('store/core/node_modules/@workflow/world', '5.0.0', 'export const SPEC_VERSION_CURRENT = 7;'),
    'store/core/node_modules/@workflow/core/package.json': '{}',
    'node_modules/workflow/package.json': '{}',
    'node_modules/@workflow/.keep': '',
  });
  symlinkSync(join(folder, 'store/core/node_modules/@workflow/core'), join(folder, 'node_modules/@workflow/core'));
  expect(findSpecVersion(join(folder, 'packages'), {})).toBe(7);
});

test('a declared version comes first', () => {
  expect(findSpecVersion(installed('export const SPEC_VERSION_CURRENT = 3;'), { STEPWELL_SPEC_VERSION: '5' })).toBe(5);
  expect(() => findSpecVersion('/', { STEPWELL_SPEC_VERSION: 'five' })).toThrow(/STEPWELL_SPEC_VERSION is not a whole number/);
});

test('where the module cannot be imported, version 4 is known by its number', () => {
  expect(findSpecVersion(installed('throw new Error();', '4.5.0'), {})).toBe(3);
  expect(() => findSpecVersion(installed('throw new Error();', '5.0.0-beta.37'), {})).toThrow(
    /5\.0\.0-beta\.37.*STEPWELL_SPEC_VERSION/,
  );
});

test('without the SDK the error says what to do', () => {
  expect(() => findSpecVersion(folderWith({ 'package.json': '{}' }), {})).toThrow(
    /install the package workflow .*STEPWELL_SPEC_VERSION/,
  );
});

test.each([
  [{}, /STEPWELL_URL is not set/],
  [{ STEPWELL_URL: 'ftp://x', STEPWELL_API_KEY: 'k' }, /STEPWELL_URL is not an http/],
  [{ STEPWELL_URL: 'https://user@x', STEPWELL_API_KEY: 'k' }, /STEPWELL_URL is not an http/],
  [{ STEPWELL_URL: 'https://x' }, /STEPWELL_API_KEY is not set/],
  [{ STEPWELL_URL: 'https://x', STEPWELL_API_KEY: 'secret key' }, /STEPWELL_API_KEY is not printable/],
])('the settings %j are refused with the name of the variable', (env, message) => {
  expect(() => connectionOf(env)).toThrow(message);
  expect(() => connectionOf(env)).not.toThrow(/secret key/);
});

test('a World is created without settings, and its first call reads them', async () => {
  for (const name of ['STEPWELL_URL', 'STEPWELL_API_KEY']) vi.stubEnv(name, undefined);
  const created = createWorld();
  await expect(created.getDeploymentId()).rejects.toThrow(/STEPWELL_URL is not set/);
  vi.stubEnv('STEPWELL_URL', 'http://127.0.0.1:9');
  vi.stubEnv('STEPWELL_API_KEY', 'sw_key');
  await expect(created.getDeploymentId()).rejects.toMatchObject({ name: 'WorkflowWorldError', code: 'TRANSPORT' });
});
