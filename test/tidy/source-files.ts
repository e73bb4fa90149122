/** The files that the house checks itself by, as text. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface SourceFile {
  /** from the root of the repository, with `/` */
  readonly path: string;
  readonly text: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** All files below these folders whose names end in one of these ways. A folder that does not exist has none. */
export const filesBelow = (folders: readonly string[], endings: readonly string[]): readonly SourceFile[] =>
  folders.flatMap((folder) =>
    pathsBelow(folder)
      .filter((path) => endings.some((ending) => path.endsWith(ending)))
      .map((path) => ({ path, text: readFileSync(`${root}${path}`, 'utf8') })),
  );

const pathsBelow = (folder: string): readonly string[] =>
  entriesOf(folder).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return entry.name === 'node_modules' ? [] : pathsBelow(path);
  });

const entriesOf = (folder: string) => {
  try {
    return readdirSync(`${root}${folder}`, { withFileTypes: true });
  } catch (trouble) {
    if (trouble instanceof Error && 'code' in trouble && trouble.code === 'ENOENT') return [];
    throw trouble;
  }
};

/** The names of the folders directly in this one. */
export const foldersIn = (folder: string): readonly string[] =>
  entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

/** The text with every comment blanked, line by line, so that lines keep their numbers. A `//` inside a word is no comment. */
export const withoutComments = (text: string): string =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/(^|\s)\/\/.*$/gm, (_comment, before: string) => before);
