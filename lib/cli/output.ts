/** Writes results to stdout and everything else to stderr. Control characters in values are escaped. */
import { styleText } from 'node:util';
import type { Outcome, Tone } from './command.ts';
import type { Terminal } from './command.ts';

/** The `error` that `--json` prints. It may have further fields. */
export interface PrintedError {
  readonly code: string;
  readonly message: string;
  readonly [more: string]: unknown;
}

export interface Output {
  readonly isJson: boolean;
  readonly print: (line: string) => void;
  /** Prints one value on one line with --json, and nothing without it. Later documents are printed on one line too. */
  readonly printJsonLine: (value: unknown) => void;
  readonly log: (line: string) => void;
  readonly colorize: (tone: Tone, text: string) => string;
  readonly printOutcome: (outcome: Outcome) => void;
  readonly printError: (error: PrintedError) => void;
}

const formats = { good: 'green', bad: 'red', warn: 'yellow', dim: 'dim', bold: 'bold' } as const satisfies Record<Tone, string>;

export function createOutput(
  { env, writeOut, writeErr, supportsColour }: Terminal,
  { isJson, wantsColour }: { readonly isJson: boolean; readonly wantsColour: boolean },
): Output {
  const hasColour = wantsColour && !isJson && supportsColour && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  let isStream = false;
  const writeJson = (value: unknown): void => writeOut(`${JSON.stringify(value, null, isStream ? 0 : 2)}\n`);
  const writeLine = (text: string): void => writeOut(`${escapeControlCharacters(text, hasColour)}\n`);
  const log = (line: string): void => writeErr(`${escapeControlCharacters(line, false)}\n`);
  return {
    isJson,
    print: (line) => (isJson ? undefined : writeLine(line)),
    printJsonLine: (value) => {
      if (!isJson) return;
      isStream = true;
      writeJson(value);
    },
    log,
    colorize: (tone, text) => (hasColour ? styleText(formats[tone], text, { validateStream: false }) : text),
    printOutcome: ({ data, text }) => {
      if (isJson) writeJson({ ok: true, data });
      else if (text !== '') writeLine(text);
    },
    printError: (error) => {
      if (isJson) writeJson({ ok: false, error });
      else if (error.message !== '') log(`error: ${error.message}`);
    },
  };
}

// oxlint-disable-next-line no-control-regex -- colour codes begin with a control character
const colours = /(\u001b\[\d{1,2}m)/;

/** Text from a workflow must not control the terminal: control characters are printed as escapes. */
const escapeControlCharacters = (text: string, keepColour: boolean): string =>
  text
    .split(keepColour ? colours : /(?!)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/(?![\n\t])\p{Cc}/gu, hexEscape)))
    .join('');

const hexEscape = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
