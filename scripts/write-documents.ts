/** `npm run documents`: writes the documents and pictures that are generated from the code, the examples and other documents. */
import { writeFile } from 'node:fs/promises';
import { generatedFiles } from './documents/generated-files.ts';

const root = new URL('..', import.meta.url);

for (const [path, text] of generatedFiles()) await writeFile(new URL(path, root), text);
