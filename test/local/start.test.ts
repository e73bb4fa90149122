import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { firstRun, greeting } from '../../lib/local/greeting.ts';
import { describeHolder, ensurePrivateFolder, lockInstance } from '../../lib/local/instance-folder.ts';
import { isLocalHost } from '../../lib/local/http/caller-guard.ts';
import { readSettings } from '../../lib/local/settings.ts';
import { digestSources } from '../../lib/local/synth/synthesize.ts';
import { freshFolder } from './stacks.ts';

describe('the settings', () => {
  test('have defaults', () => {
    expect(readSettings({}, '/srv/me')).toMatchObject({ directory: '/srv/me/.stepwell', port: 4700 });
  });

  test('are taken from the environment', () => {
    expect(readSettings({ STEPWELL_DIR: 'here', STEPWELL_PORT: '0' }, '/srv/me')).toMatchObject({
      directory: '/srv/me/here',
      port: 0,
    });
  });

  test.each(['x', '-1', '70000', '1.5'])('refuse %s as a port', (STEPWELL_PORT) => {
    expect(() => readSettings({ STEPWELL_PORT }, '/')).toThrow(
      `STEPWELL_PORT must be a whole number from 0 to 65535, and is '${STEPWELL_PORT}'`,
    );
  });
});

describe('a state folder', () => {
  test('is locked by one process at a time', () => {
    const folder = freshFolder();
    const first = lockInstance(folder);
    expect(lockInstance(folder)).toBeUndefined();
    first?.release();
    const second = lockInstance(folder);
    expect(second).toBeDefined();
    second?.release();
  });

  test('names the process that has locked it', () => {
    const folder = freshFolder();
    expect(describeHolder(folder)).toBe('another process, which is starting');
    writeFileSync(join(folder, 'local.json'), '{"url":"http://127.0.0.1:4700","pid":12}');
    expect(describeHolder(folder)).toBe('process 12 at http://127.0.0.1:4700');
  });
});

describe('the state folder', () => {
  const modeOf = (folder: string): number => statSync(folder).mode & 0o777;

  test('is created for its owner alone', () => {
    const folder = join(freshFolder(), 'deep', 'state');
    ensurePrivateFolder(folder);
    expect(modeOf(folder)).toBe(0o700);
  });

  test.each([0o755, 0o750, 0o711])('that others may read (%o) loses their permissions', (mode) => {
    const folder = freshFolder();
    chmodSync(folder, mode);
    ensurePrivateFolder(folder);
    expect(modeOf(folder)).toBe(0o700);
  });

  test.each([0o777, 0o770, 0o1777])('that others may write to (%o) is refused', (mode) => {
    const folder = freshFolder();
    chmodSync(folder, mode);
    expect(() => ensurePrivateFolder(folder)).toThrow('Other users may write to the state folder');
    expect(modeOf(folder)).toBe(mode & 0o777);
  });
});

test('STEPWELL_ORIGINS accepts only complete origins', () => {
  const read = (STEPWELL_ORIGINS: string) => readSettings({ STEPWELL_ORIGINS }, '/').origins;
  expect(read('')).toEqual([]);
  expect(read('http://localhost:5173, https://app.test')).toEqual(['http://localhost:5173', 'https://app.test']);
  for (const wrong of ['localhost:5173', 'http://localhost:5173/', '*', 'null', 'http://a http://b'])
    expect(() => read(wrong)).toThrow('STEPWELL_ORIGINS must be comma-separated origins');
});

describe('the digest of the sources', () => {
  const project = (): string => {
    const root = freshFolder();
    mkdirSync(join(root, 'lib', 'deep'), { recursive: true });
    writeFileSync(join(root, 'lib', 'a.ts'), 'one');
    writeFileSync(join(root, 'lib', 'deep', 'b.ts'), 'two');
    return root;
  };

  const digestOf = (root: string): string =>
    digestSources(
      root,
      ['lib', 'cdk.json'].map((path) => join(root, path)),
    );

  test('is equal for equal sources in any folder', () => {
    expect(digestOf(project())).toBe(digestOf(project()));
  });

  test.each([
    ['other content', (root: string) => writeFileSync(join(root, 'lib', 'deep', 'b.ts'), 'TWO')],
    ['a new file', (root: string) => writeFileSync(join(root, 'lib', 'c.ts'), '')],
    ['an added root file', (root: string) => writeFileSync(join(root, 'cdk.json'), '{}')],
  ])('changes with %s', (_name, change) => {
    const root = project();
    const before = digestOf(root);
    change(root);
    expect(digestOf(root)).not.toBe(before);
  });
});

test.each([
  ['127.0.0.1:4700', true],
  ['localhost', true],
  ['LOCALHOST:1', true],
  ['127.0.0.1:65535', true],
  ['127.0.0.1:65536', false],
  ['127.0.0.1:99999999999999999999', false],
  ['evil.example:4700', false],
  ['127.0.0.1.evil.example', false],
  ['localhost.evil.example', false],
  ['', false],
  [undefined, false],
])('the host %s is this machine: %s', (host, expected) => {
  expect(isLocalHost(host)).toBe(expected);
});

test.each([
  ['README.md', true],
  ['docs/guides/local-development.md', false],
])('the greeting starts the first run of %s', (document, hasExamples) => {
  const url = 'http://127.0.0.1:4700';
  const text = greeting({ url, socketUrl: undefined, apiKey: 'sw_local_key', directory: '/state', offsetMs: 0, hasExamples });
  const commands = firstRun({ hasExamples });
  expect(readFileSync(new URL(`../../${document}`, import.meta.url), 'utf8')).toContain(`\`\`\`sh\n${commands}\n\`\`\``);
  expect(text).toContain(`\n\n  ${commands.split('\n').join('\n  ')}\n\n`);
  expect(text).not.toContain('curl');
});
