/** What the bodies of steps print, kept apart: several may be at work at once. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { SeededRandom } from './seeded-random.ts';

/** for each attempt; UTF-16 units for bytes would let four times as much through */
const maxPrinted = { lines: 200, bytes: 16_384 } as const;
const truncationNotice = '… more was printed and is not kept';

export class PrintedLines {
  readonly #lines: string[] = [];
  #partialLine = '';
  #bytes = 0;
  #isFull = false;

  add(text: string): void {
    if (this.#isFull) return;
    const parts = `${this.#partialLine}${text}`.split('\n');
    this.#partialLine = parts.pop() ?? '';
    for (const line of parts) this.#store(line);
    // A line without an end would grow for ever.
    if (this.#partialLine.length > maxPrinted.bytes) this.#store(this.#partialLine);
  }

  /** What stands without an end is a line too. */
  takeLines(): readonly string[] {
    if (this.#partialLine !== '') this.#store(this.#partialLine);
    this.#partialLine = '';
    return this.#lines;
  }

  #store(line: string): void {
    if (this.#isFull) return;
    const bytes = new TextEncoder().encode(line).length;
    if (this.#lines.length < maxPrinted.lines - 1 && this.#bytes + bytes <= maxPrinted.bytes) {
      this.#lines.push(line.toWellFormed());
      this.#bytes += bytes;
      return;
    }
    this.#isFull = true;
    this.#lines.push(truncationNotice);
  }
}

/** What is at work where this is asked. */
export interface StepScope {
  readonly lines: PrintedLines;
  /** what a body calls `random` for is none of the code's own numbers */
  readonly seededRandom: SeededRandom;
}

export const stepScope = new AsyncLocalStorage<StepScope>();

/**
 * Whoever catches what is written to the thread's output calls this with it, at once and synchronously: it belongs to the body
 * that wrote it. @returns whether it did
 */
export function capturePrinted(text: string): boolean {
  const scope = stepScope.getStore();
  scope?.lines.add(text);
  return scope !== undefined;
}
