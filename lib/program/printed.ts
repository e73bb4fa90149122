/** What the bodies of steps print, kept apart: several may be at work at once. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Chance } from './chance.ts';

/** for each attempt; UTF-16 units for bytes would let four times as much through */
const most = { lines: 200, bytes: 16_384 } as const;
const cutMark = '… more was printed and is not kept';

export class PrintedLines {
  readonly #lines: string[] = [];
  #rest = '';
  #bytes = 0;
  #isFull = false;

  add(text: string): void {
    if (this.#isFull) return;
    const parts = `${this.#rest}${text}`.split('\n');
    this.#rest = parts.pop() ?? '';
    for (const line of parts) this.#keep(line);
    // A line without an end would grow for ever.
    if (this.#rest.length > most.bytes) this.#keep(this.#rest);
  }

  /** What stands without an end is a line too. */
  taken(): readonly string[] {
    if (this.#rest !== '') this.#keep(this.#rest);
    this.#rest = '';
    return this.#lines;
  }

  #keep(line: string): void {
    if (this.#isFull) return;
    const bytes = new TextEncoder().encode(line).length;
    if (this.#lines.length < most.lines - 1 && this.#bytes + bytes <= most.bytes) {
      this.#lines.push(line.toWellFormed());
      this.#bytes += bytes;
      return;
    }
    this.#isFull = true;
    this.#lines.push(cutMark);
  }
}

/** What is at work where this is asked. */
export interface BodyScope {
  readonly lines: PrintedLines;
  /** what a body calls `random` for is none of the code's own numbers */
  readonly chance: Chance;
}

export const bodyScope = new AsyncLocalStorage<BodyScope>();

/**
 * Whoever catches what is written to the thread's output calls this with it, at once and synchronously: it belongs to the body
 * that wrote it. @returns whether it did
 */
export function notePrinted(text: string): boolean {
  const scope = bodyScope.getStore();
  scope?.lines.add(text);
  return scope !== undefined;
}
