/** The repository's files as text, for checks that read source code. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface SourceFile {
  /** from the root of the repository, with `/` */
  readonly path: string;
  readonly text: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** All files below these folders whose names end with one of these endings. A folder that does not exist has none. */
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
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
};

/** The names of the folders directly in this one. */
export const foldersIn = (folder: string): readonly string[] =>
  entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

/** The text with its comments replaced by blanks, so that lines keep their numbers. A `//` inside a word is no comment. */
export const withoutComments = (text: string): string =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/(^|\s)\/\/.*$/gm, (_comment, before: string) => before);
