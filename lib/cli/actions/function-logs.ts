/** The logs of the embedded cloud's functions, which are files: their lines that name a run, once each, also while the files grow. */
import { closeSync, globSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { defined } from '../../base/defined.ts';

export interface FunctionLine {
  readonly function: string;
  readonly timestamp: string;
  readonly line: string;
  /** what the author's code printed between its steps, with `log` or `console` */
  readonly printed?: { readonly stream: string; readonly text: string };
}

const loggedLine = z.object({ timestamp: z.string() });
/** `functions/code` writes it for each line of deployed code outside of a step; the lines of steps are in the run's log. */
const printedLine = z.object({
  message: z.literal('output of deployed code'),
  runId: z.string(),
  stream: z.string(),
  text: z.string(),
});

export class FunctionLogs {
  readonly #directory: string;
  readonly #runId: string;
  /** bytes that were read, by file */
  readonly #read = new Map<string, number>();
  /** the beginning of a line whose end is not written yet, by file */
  readonly #unfinished = new Map<string, string>();

  constructor(directory: string, runId: string) {
    this.#directory = directory;
    this.#runId = runId;
  }

  /** The lines since the previous call, in the order of their times. */
  take(): readonly FunctionLine[] {
    const files = globSync('*.{log,log.1}', { cwd: this.#directory });
    return files
      .flatMap((file) => this.#newLines(file).map((line) => this.#describe(file, line)))
      .toSorted((one, other) => compareTexts(one.timestamp, other.timestamp));
  }

  #newLines(file: string): readonly string[] {
    const path = join(this.#directory, file);
    const { size } = statSync(path);
    const previous = this.#read.get(file) ?? 0;
    // A start of the cloud renames a long file and begins a new one.
    const from = size < previous ? 0 : previous;
    if (size === from) return [];
    const bytes = readBytes(path, from, size - from);
    const lines = `${this.#unfinished.get(file) ?? ''}${bytes.toString('utf8')}`.split('\n');
    this.#unfinished.set(file, lines.pop() ?? '');
    this.#read.set(file, from + bytes.length);
    return lines.filter((line) => line.includes(this.#runId));
  }

  #describe(file: string, line: string): FunctionLine {
    const value = parseJson(line);
    const { data: printed } = printedLine.safeParse(value);
    return defined({
      function: file.replace(/\.log(\.1)?$/, ''),
      // A line without a time comes first.
      timestamp: loggedLine.safeParse(value).data?.timestamp ?? '',
      line,
      printed: printed?.runId === this.#runId ? { stream: printed.stream, text: printed.text } : undefined,
    });
  }
}

export const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

function readBytes(path: string, from: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, from));
  } finally {
    closeSync(file);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
