/** Every relative link of the documents leads to a file, and to a heading where it names one. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { read } from './documents.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'AGENTS.md',
  'CHANGELOG.md',
  'examples/README.md',
  'llms.txt',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`),
];

/** GitHub's anchors: lower case, punctuation removed, spaces as hyphens. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const withoutCode = (text: string): string =>
  text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''));
const anchorsIn = (path: string): readonly string[] =>
  [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

const brokenLinks = (path: string, text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : normalize(join(dirname(path), decodeURI(file)));
    if (!existsSync(join(root, target))) return [`${path}: ${link} leads to no file`];
    return anchor === undefined || !target.endsWith('.md') || anchorsIn(target).includes(anchor)
      ? []
      : [`${path}: ${link} leads to no heading`];
  });

test.each(pages)('%s has no broken link', (path) => {
  expect(brokenLinks(path, read(path))).toEqual([]);
});

test('a broken link is found', () => {
  expect(brokenLinks('README.md', 'See [a](docs/NOWHERE.md), [b](docs/API.md#no-such-heading) and [c](#nor-this).')).toHaveLength(
    3,
  );
});
