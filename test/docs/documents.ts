/** The documents as their readers see them: tables, headings, and the source files that they speak of. */
import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

export const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

export interface Row {
  /** the heading it stands under */
  readonly section: string;
  readonly cells: readonly string[];
}

/** Every row of every table of a Markdown text, without heads and rules. */
export function rowsIn(text: string): readonly Row[] {
  let section = '';
  let isHead = true;
  return text.split('\n').flatMap((line): Row[] => {
    const heading = /^#+ (.+)$/.exec(line)?.[1];
    if (heading !== undefined) section = heading;
    if (!line.startsWith('|')) {
      isHead = true;
      return [];
    }
    const cells = line
      .slice(1, line.lastIndexOf('|'))
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));
    const isRule = cells.every((cell) => /^:?-+:?$/.test(cell));
    if (isRule || isHead) {
      isHead = false;
      return [];
    }
    return [{ section, cells }];
  });
}

/** What stands between backquotes. */
export const quotedIn = (text: string): readonly string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, quoted]) => quoted ?? '');
