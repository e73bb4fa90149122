/** Formats times, statuses and tables. Text and symbols carry the meaning; colour only adds emphasis. */
import { stripVTControlCharacters } from 'node:util';
import type { CommandContext, Tone } from './command.ts';

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** The two largest units, such as `2 h 5 min`. */
export function formatDuration(ms: number): string {
  const roundedMs = Math.round(Math.abs(ms));
  if (roundedMs < 1_000) return `${roundedMs} ms`;
  const first = units.findIndex(([, length]) => roundedMs >= length);
  let rest = roundedMs;
  const parts: string[] = [];
  for (const [name, length] of units.slice(first, first + 2)) {
    const quantity = Math.floor(rest / length);
    rest -= quantity * length;
    if (quantity > 0) parts.push(`${quantity} ${name}`);
  }
  return parts.join(' ');
}

/** `2026-01-31T12:00:00.000Z (3 min ago)`. The absolute time comes first, because output is often read later. */
export const formatTime = (at: string, now: number): string => {
  const ms = Date.parse(at) - now;
  return `${at} (${ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(ms)} ago`})`;
};

const statusMarks: Readonly<Record<string, readonly [shape: string, tone: Tone]>> = {
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

/** A status after its symbol. */
export const formatStatus = ({ colorize }: Pick<CommandContext, 'colorize'>, value: string): string => {
  const [shape, tone] = statusMarks[value] ?? ['·', 'dim'];
  return colorize(tone, `${shape} ${value}`);
};

/** Width on the screen: colour codes take no space. */
const visibleWidth = (cell: string): number => stripVTControlCharacters(cell).length;

/** Aligns columns under their headers. Line breaks in a cell become spaces. */
export function formatTable(
  { colorize }: Pick<CommandContext, 'colorize'>,
  headers: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll(/\s*\n\s*/g, ' ')));
  const widths = headers.map((head, column) =>
    Math.max(visibleWidth(head), ...cells.map((row) => visibleWidth(row[column] ?? ''))),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - visibleWidth(cell)))
      .join('  ')
      .trimEnd();
  return [line(headers.map((head) => colorize('dim', head))), ...cells.map(line)].join('\n');
}

/** `1 run`, `2 runs`. */
export const quantity = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`;
