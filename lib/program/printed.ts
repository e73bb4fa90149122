/** What authors' code prints: its logger, and the output of each step function. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { printedLimits } from '../engine/log/event-limits.ts';
import type { SeededRandom } from './seeded-random.ts';

const truncationNotice = '… output truncated: the limit is reached';

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
    // Bounds a line that never ends.
    if (this.#partialLine.length > printedLimits.bytes) this.#store(this.#partialLine);
  }

  /** An unfinished line counts as a line. */
  takeLines(): readonly string[] {
    if (this.#partialLine !== '') this.#store(this.#partialLine);
    this.#partialLine = '';
    return this.#lines;
  }

  #store(line: string): void {
    if (this.#isFull) return;
    const bytes = new TextEncoder().encode(line).length;
    if (this.#lines.length < printedLimits.lines - 1 && this.#bytes + bytes <= printedLimits.bytes) {
      this.#lines.push(line.toWellFormed());
      this.#bytes += bytes;
      return;
    }
    this.#isFull = true;
    this.#lines.push(truncationNotice);
  }
}

/** The step attempt of the current async context. */
export interface StepScope {
  readonly lines: PrintedLines;
  /** separate from the workflow function's random numbers, so that step functions do not change them */
  readonly seededRandom: SeededRandom;
}

/** Several step functions may run at once, so output is assigned by async context. */
export const stepScope = new AsyncLocalStorage<StepScope>();

/**
 * Assigns output to the step function that wrote it. Call it synchronously from the output hook of the thread.
 * @returns whether a step function wrote it
 */
export function capturePrinted(text: string): boolean {
  const scope = stepScope.getStore();
  scope?.lines.add(text);
  return scope !== undefined;
}

/** The author's logger. It writes one line per call, and nothing during a replay. */
export interface ProgramLog {
  debug(message: unknown, data?: unknown): void;
  info(message: unknown, data?: unknown): void;
  warn(message: unknown, data?: unknown): void;
  error(message: unknown, data?: unknown): void;
}

type Level = keyof ProgramLog;
export type Print = (level: Level, line: string) => void;

export function programLog(print: Print, isSilent: () => boolean): ProgramLog {
  const logAt = (level: Level) => (message: unknown, data?: unknown) => {
    if (!isSilent()) print(level, data === undefined ? String(message) : `${String(message)} ${formatData(data)}`);
  };
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
}

function formatData(data: unknown): string {
  try {
    if (data instanceof Error) return data.stack ?? String(data);
    return JSON.stringify(data) ?? String(data);
  } catch {
    return String(data);
  }
}
