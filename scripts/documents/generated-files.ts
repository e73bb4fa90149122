/** Every file of the documents that is generated, with its text. `npm run documents` writes them; a test compares them. */
import { limitsDocument } from '../limits/document.ts';

export const generatedFiles = (): ReadonlyMap<string, string> => new Map([['docs/LIMITS.md', limitsDocument()]]);
