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

const units: Readonly<Record<string, number>> = { seconds: 1_000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

/**
 * The number that a file sets at the place the pattern names: a plain one, or `seconds(2)` and its like in milliseconds.
 * @param pattern finds the text before the number, such as `const heartbeatInterval = `
 */
export function numberIn(path: string, pattern: string): number {
  const text = read(path);
  const at = text.indexOf(pattern);
  if (at === -1) throw new Error(`${path} no longer says ${pattern}`);
  const found = /^\s*(?:(seconds|minutes|hours|days|Duration\.days)\()?([\d_]+(?:\.\d+)?)/.exec(text.slice(at + pattern.length));
  if (found === null) throw new Error(`${path} sets no number after ${pattern}`);
  return Number(found[2]?.replaceAll('_', '')) * (units[found[1] ?? ''] ?? 1);
}
