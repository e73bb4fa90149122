/** How times, statuses and tables are written. Everything is said by words and shapes; colour only repeats it. */
import { stripVTControlCharacters } from 'node:util';
import type { Shell, Tone } from './command.ts';

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** The two largest units, such as `2 h 5 min`. */
export function span(ms: number): string {
  const whole = Math.round(Math.abs(ms));
  if (whole < 1_000) return `${whole} ms`;
  const first = units.findIndex(([, length]) => whole >= length);
  let rest = whole;
  const parts: string[] = [];
  for (const [name, length] of units.slice(first, first + 2)) {
    const many = Math.floor(rest / length);
    rest -= many * length;
    if (many > 0) parts.push(`${many} ${name}`);
  }
  return parts.join(' ');
}

/** `2026-01-31T12:00:00.000Z (3 min ago)`; absolute first, for a report is read later. */
export const when = (at: string, now: number): string => {
  const ms = Date.parse(at) - now;
  return `${at} (${ms > 0 ? `in ${span(ms)}` : `${span(ms)} ago`})`;
};

const marks: Readonly<Record<string, readonly [shape: string, tone: Tone]>> = {
  completed: ['✓', 'good'],
  active: ['✓', 'good'],
  ok: ['✓', 'good'],
  success: ['✓', 'good'],
  failed: ['✗', 'bad'],
  fail: ['✗', 'bad'],
  failure: ['✗', 'bad'],
  timed_out: ['✗', 'bad'],
  blocked: ['✗', 'bad'],
  invalidated: ['✗', 'bad'],
  warn: ['!', 'warn'],
  cancelled: ['⊘', 'warn'],
  skipped: ['–', 'dim'],
  running: ['▸', 'bold'],
  waiting: ['◷', 'dim'],
  queued: ['·', 'dim'],
  pending: ['·', 'dim'],
};

/** A status with its shape before it. */
export const status = ({ paint }: Pick<Shell, 'paint'>, word: string): string => {
  const [shape, tone] = marks[word] ?? ['·', 'dim'];
  return paint(tone, `${shape} ${word}`);
};

/** What a cell takes on the screen: colour takes nothing. */
const widthOf = (cell: string): number => stripVTControlCharacters(cell).length;

/** Columns under their names. A cell is one line. */
export function table({ paint }: Pick<Shell, 'paint'>, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll(/\s*\n\s*/g, ' ')));
  const widths = heads.map((head, column) => Math.max(widthOf(head), ...cells.map((row) => widthOf(row[column] ?? ''))));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd();
  return [line(heads.map((head) => paint('dim', head))), ...cells.map(line)].join('\n');
}

/** `1 run`, `2 runs`. */
export const many = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`;
