/** The generated documents are up to date. */
import { expect, test } from 'vitest';
import { generatedFiles } from '../../scripts/documents/generated-files.ts';
import { read } from './documents.ts';

test.each([...generatedFiles()])('%s is up to date; npm run documents writes it', (path, text) => {
  expect(read(path)).toBe(text);
});
