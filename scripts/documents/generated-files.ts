/** Every file of the documents that is generated, with its text. `npm run documents` writes them; a test compares them. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { limitsDocument } from '../limits/document.ts';
import { apiExamples } from './api-examples.ts';
import { drawWorkflow } from '../pictures/draw.ts';
import { joinPictures } from './joins.ts';
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
  const examples = `${JSON.stringify(apiExamples(documents.read('docs/API.md')), null, 2)}\n`;
  return new Map([...pages, ['lib/api/examples.json', examples], ...llmsFiles(documents), ...pictures(), ...picturesOfJoins()]);
}

const picturesOfJoins = (): readonly (readonly [string, string])[] =>
  [...joinPictures()].map(([name, graph]) => [`docs/pictures/${name}.svg`, drawWorkflow(graph)]);

/** A picture beside each graph of the examples. `others.json` has several graphs. */
const pictures = (): readonly (readonly [string, string])[] =>
  readdirSync(fileURLToPath(new URL('examples', root)), { recursive: true, encoding: 'utf8' })
    .toSorted()
    .flatMap((path): readonly (readonly [string, string])[] => {
      const folder = `examples/${path.slice(0, path.lastIndexOf('/'))}`;
      const body = (): unknown => JSON.parse(readFileSync(new URL(`examples/${path}`, root), 'utf8'));
      if (path.endsWith('/workflow.json')) return [[`${folder}/workflow.svg`, drawWorkflow(body())]];
      if (!path.endsWith('/others.json')) return [];
      return z
        .array(z.looseObject({ name: z.string() }))
        .parse(body())
        .map((graph) => [`${folder}/${graph.name}.svg`, drawWorkflow(graph)]);
    });
