/** The generated documents are up to date. */
import { expect, test } from 'vitest';
import { generatedFiles } from '../../scripts/documents/generated-files.ts';
import { llmsFiles } from '../../scripts/documents/llms.ts';
import { read } from './documents.ts';

test.each([...generatedFiles()])('%s is up to date; npm run documents writes it', (path, text) => {
  // Not toBe of the texts: the difference of a text of a megabyte takes minutes.
  expect(firstDifference(read(path), text)).toBeUndefined();
});

/** The first line that differs, as it is and as it should be. */
function firstDifference(actual: string, expected: string): object | undefined {
  if (actual === expected) return undefined;
  const [is, should] = [actual.split('\n'), expected.split('\n')];
  const line = should.findIndex((text, index) => text !== is[index]);
  return { line: line + 1, is: is[line], should: should[line] };
}

test('llms.txt refuses a document without a section', () => {
  expect(() => llmsFiles({ paths: ['docs/NEW.md'], read })).toThrow('docs/NEW.md');
});

test('examples/README.md shows every picture', () => {
  const pictures = [...generatedFiles().keys()]
    .filter((path) => path.startsWith('examples/') && path.endsWith('.svg'))
    .map((path) => path.replace('examples/', ''));
  const page = read('examples/README.md');
  expect(pictures.length).toBeGreaterThan(15);
  expect(pictures.filter((path) => !page.includes(`](${path})`))).toEqual([]);
});
