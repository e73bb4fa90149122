/** What docs/CONSOLE.md promises has tests in a browser, and each of them exists. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { features } from '../browser/features.ts';
import { root } from '../e2e/local-start.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

test('the table of the document has these promises, in this order', () => {
  const [, section = ''] = read('docs/CONSOLE.md').split('## What it promises');
  const rows = [...(section.split('\n## ')[0]?.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm) ?? [])];
  expect(rows.map(([, number, promise]) => [Number(number), promise])).toEqual(
    features.map(({ promise }, index) => [index + 1, promise]),
  );
});

describe.each(features)('$promise', ({ tests }) => {
  test('is proven by tests that exist', () => {
    expect(tests).not.toEqual([]);
    for (const [file, name] of tests) {
      const source = read(`test/browser/${file}`);
      expect(source.includes(`test('${name}', `) || source.includes(`test("${name}", `), `${file}: ${name}`).toBe(true);
    }
  });
});
