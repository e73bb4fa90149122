/** Each file runs in the tiers that it is written for. */
import { globSync, readFileSync, readdirSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { projects } from '../../vitest.config.ts';
import { longFiles } from '../long-files-first.ts';
import { filePart, inBothTiers } from '../tier.ts';

const root = new URL('../../', import.meta.url);
const files = readdirSync(fileURLToPath(new URL('test', root)), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => ({ path: `test/${path}`, text: readFileSync(new URL(`test/${path}`, root), 'utf8') }));
const both = Object.values(inBothTiers).flat();

test('every file of both tiers exists, and every file that begins early', () => {
  expect([...both, ...longFiles].filter((path) => !files.some((file) => file.path === path))).toEqual([]);
});

test('a file whose tests differ between the tiers runs in both', () => {
  const differing = files
    .filter(({ text }) => /\b(inTier\(|dynamoImplementations\b|isSlow: true\b)/.test(text))
    .map(({ path }) => path);
  expect(differing.filter((path) => path !== 'test/tidy/tiers.test.ts' && !both.includes(path))).toEqual([]);
});

test('each test file belongs to one project, so that a new folder cannot be left out', () => {
  const all = globSync(['test/**/*.test.ts', 'examples/*/tests/**/*.test.ts'], { cwd: fileURLToPath(root) });
  expect(all.length).toBeGreaterThan(400);
  const isIn = (path: string, patterns: readonly string[] = []): boolean =>
    patterns.some((pattern) => matchesGlob(path, pattern));
  const projectsOf = (path: string): readonly string[] =>
    projects.flatMap(([name, include, options]) => (isIn(path, include) && !isIn(path, options?.exclude) ? [name] : []));
  expect(all.map((path) => [path, projectsOf(path)] as const).filter(([, names]) => names.length !== 1)).toEqual([]);
});

test('the parts of a share take as long as each other, if each file takes a second less than the one before it', () => {
  const files = Array.from({ length: 20 }, (_none, index) => ({ part: filePart(index), seconds: 20 - index }));
  const secondsOf = (part: number): number => files.reduce((sum, file) => (file.part === part ? sum + file.seconds : sum), 0);
  expect([0, 1, 2, 3, 4].map(secondsOf)).toEqual([42, 42, 42, 42, 42]);
});
