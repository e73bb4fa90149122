/** What is printed where: data on stdout, everything else on stderr, and no control character that a value brought along. */
import { styleText } from 'node:util';
import type { Outcome, Tone } from './command.ts';
import type { Terminal } from './terminal.ts';

/** What `--json` prints as `error`; more may come beside these two. */
export interface PrintedError {
  readonly code: string;
  readonly message: string;
  readonly [more: string]: unknown;
}

export interface Screen {
  readonly isJson: boolean;
  readonly say: (line: string) => void;
  readonly note: (line: string) => void;
  readonly paint: (tone: Tone, text: string) => string;
  readonly end: (outcome: Outcome) => void;
  readonly fail: (error: PrintedError) => void;
}

const formats = { good: 'green', bad: 'red', warn: 'yellow', dim: 'dim', bold: 'bold' } as const satisfies Record<Tone, string>;

export function screenOf(
  { env, writeOut, writeErr, isColourful }: Terminal,
  { isJson, wantsColour }: { readonly isJson: boolean; readonly wantsColour: boolean },
): Screen {
  const hasColour = wantsColour && !isJson && isColourful && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  const json = (value: unknown): void => writeOut(`${JSON.stringify(value, null, 2)}\n`);
  const out = (text: string): void => writeOut(`${harmless(text, hasColour)}\n`);
  const note = (line: string): void => writeErr(`${harmless(line, false)}\n`);
  return {
    isJson,
    say: (line) => (isJson ? undefined : out(line)),
    note,
    paint: (tone, text) => (hasColour ? styleText(formats[tone], text, { validateStream: false }) : text),
    end: ({ data, text }) => {
      if (isJson) json({ ok: true, data });
      else if (text !== '') out(text);
    },
    fail: (error) => {
      if (isJson) json({ ok: false, error });
      else if (error.message !== '') note(`error: ${error.message}`);
    },
  };
}

// oxlint-disable-next-line no-control-regex -- what paint() writes begins with one
const colours = /(\u001b\[\d{1,2}m)/;

/** A workflow's words must not move the cursor or rename the window: what controls a terminal is shown, not sent. */
const harmless = (text: string, keepsColour: boolean): string =>
  text
    .split(keepsColour ? colours : /(?!)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/(?![\n\t])\p{Cc}/gu, spelled)))
    .join('');

const spelled = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
