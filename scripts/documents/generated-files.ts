/** Every file of the documents that is generated, with its text. `npm run documents` writes them; a test compares them. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { limitsDocument } from '../limits/document.ts';
import { llmsFiles } from './llms.ts';

const root = new URL('../../', import.meta.url);

/** By path, relative to the root. A generated page counts as it is now, not as it was written last. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const pages = new Map([['docs/LIMITS.md', limitsDocument()]]);
  const documents = {
    paths: readdirSync(fileURLToPath(new URL('docs', root)), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => `docs/${path}`)
      .toSorted(),
    read: (path: string): string => pages.get(path) ?? readFileSync(new URL(path, root), 'utf8'),
  };
  return new Map([...pages, ...llmsFiles(documents)]);
}
