/** What the prelude says of a script's end, read as carefully as any other text from there: it ran beside an author's code. */
import * as z from 'zod';
import { pointer } from '../../engine/graph/findings.ts';
import { treeLimits } from '../../engine/tree.ts';
import { type StopReason, scriptFaults, scriptLimits } from './script.ts';

/** What stands before the author's first character, on the first line. */
export const opening = '(function(){';
export const fileName = 'script.js';

export type Verdict = { readonly kind: 'returned'; readonly output: string } | ({ readonly kind: 'stopped' } & StopReason);

const threw = z.object({ fault: z.enum(scriptFaults), message: z.string(), stack: z.string() });
const refused = z.object({
  fault: z.enum(['output_invalid', 'output_too_large', 'output_too_deep']),
  what: z.string(),
  steps: z.array(z.string()),
});

/** @param code of the script: no place lies outside of it */
export function readVerdict(said: string, code: string): Verdict {
  const at = said.indexOf(':');
  const [kind, text] = [said.slice(0, at), said.slice(at + 1)];
  if (kind === 'json') return Buffer.byteLength(text) > scriptLimits.outputBytes ? tooLarge : { kind: 'returned', output: text };
  const value = parsed(text);
  const thrown = kind === 'threw' ? threw.safeParse(value).data : undefined;
  if (thrown !== undefined) return { kind: 'stopped', ...saidBy(thrown), ...placeOf(thrown.stack, code) };
  const refusal = kind === 'refused' ? refused.safeParse(value).data : undefined;
  if (refusal !== undefined) return refusedFor(refusal);
  return { kind: 'stopped', fault: 'sandbox_failed', message: 'the sandbox said of the script what cannot be read' };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const tooLarge: Verdict = {
  kind: 'stopped',
  fault: 'output_too_large',
  message: `the result is larger than ${scriptLimits.outputBytes} bytes of JSON`,
};

const limitWords: Readonly<Partial<Record<StopReason['fault'], string>>> = {
  recursion_exceeded: 'the script calls itself too deeply',
  memory_exceeded: 'the script needs more memory than it may have',
};

const saidBy = ({ fault, message }: z.output<typeof threw>): StopReason => ({
  fault,
  message: limitWords[fault] ?? cutWords(message),
});

function refusedFor({ fault, what, steps }: z.output<typeof refused>): Verdict {
  if (fault === 'output_too_large') return tooLarge;
  const path = pointer(...steps);
  const message =
    fault === 'output_too_deep'
      ? `the result is nested more than ${treeLimits.levels} levels deep`
      : `the result ${path === '' ? 'is' : `holds at ${path}`} ${what}`;
  return { kind: 'stopped', fault, message: cutWords(message), path };
}

/** Digits are bounded: a script may write its own stack, and what is read of it is a number that can be sent and stored. */
const frame = /\(script\.js:(\d{1,7}):(\d{1,7})\)/;

/** The innermost place inside the script, where there is such a place in it. */
function placeOf(stack: string, code: string): { readonly line?: number; readonly column?: number } {
  const found = frame.exec(stack);
  if (found === null) return {};
  const line = Number(found[1]);
  const text = code.split('\n')[line - 1];
  if (text === undefined) return {};
  const column = Number(found[2]) - (line === 1 ? opening.length : 0);
  return column < 1 || column > text.length + 1 ? { line } : { line, column };
}

export const cutWords = (text: string): string =>
  text.length > scriptLimits.words ? `${text.slice(0, scriptLimits.words).toWellFormed()}…` : text;
