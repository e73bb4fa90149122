/** What a browser loads before the console shows something. */
import { expect, test } from 'vitest';
import { measureConsole } from '../../scripts/build-console.ts';

const kilobyte = 1_024;

test('a field for scripts adds at most 125 KB with gzip, where one types', async () => {
  const { codeMirror } = await measureConsole();
  expect(codeMirror).toBeGreaterThan(50 * kilobyte);
  expect(codeMirror).toBeLessThanOrEqual(125 * kilobyte);
});

test('the editor adds at most 115 KB with gzip, when it is opened', async () => {
  const { editor } = await measureConsole();
  expect(editor).toBeGreaterThan(30 * kilobyte);
  expect(editor).toBeLessThanOrEqual(115 * kilobyte);
});

test('the first script has at most 110 KB with gzip, and the style at most 12', async () => {
  const { script, style } = await measureConsole();
  expect(script).toBeGreaterThan(40 * kilobyte);
  expect(script).toBeLessThanOrEqual(110 * kilobyte);
  expect(style).toBeGreaterThan(1 * kilobyte);
  expect(style).toBeLessThanOrEqual(12 * kilobyte);
});
