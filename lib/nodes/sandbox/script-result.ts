/** Parses the prelude's report of a script's end. It is untrusted, because the prelude shares a machine with the author's code. */
import * as z from 'zod';
import { jsonPointer } from '../../engine/graph/findings.ts';
import { jsonLimits } from '../../engine/validate-json.ts';
import { type StopReason, scriptErrorCodes, scriptLimits } from './script.ts';

/** The text before the author's code on its first line. */
export const scriptPrefix = '(function(){';
export const fileName = 'script.js';

export type ScriptResult = { readonly kind: 'returned'; readonly output: string } | ({ readonly kind: 'stopped' } & StopReason);

const threw = z.object({
  errorCode: z.enum(scriptErrorCodes),
  isCodeError: z.boolean(),
  message: z.string(),
  stack: z.string(),
});
const refused = z.object({
  errorCode: z.enum(['output_invalid', 'output_too_large', 'output_too_deep']),
  what: z.string(),
  steps: z.array(z.string()),
});

/** @param code of the script, to reject locations outside of it */
export function parseScriptResult(raw: string, code: string): ScriptResult {
  const at = raw.indexOf(':');
  const [kind, text] = [raw.slice(0, at), raw.slice(at + 1)];
  if (kind === 'json') return Buffer.byteLength(text) > scriptLimits.outputBytes ? tooLarge : { kind: 'returned', output: text };
  const value = parsed(text);
  const thrown = kind === 'threw' ? threw.safeParse(value).data : undefined;
  if (thrown !== undefined) return { kind: 'stopped', ...stopReasonOf(thrown), ...locationOf(thrown.stack, code) };
  const refusal = kind === 'refused' ? refused.safeParse(value).data : undefined;
  if (refusal !== undefined) return refusalResult(refusal);
  return { kind: 'stopped', errorCode: 'sandbox_failed', message: 'the report of the script cannot be parsed' };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const tooLarge: ScriptResult = {
  kind: 'stopped',
  errorCode: 'output_too_large',
  message: `the result is larger than ${scriptLimits.outputBytes} bytes of JSON`,
};

const limitMessages: Readonly<Partial<Record<StopReason['errorCode'], string>>> = {
  recursion_exceeded: 'the script exceeds the maximum call depth',
  memory_exceeded: 'the script exceeds its memory limit',
};

const stopReasonOf = ({ errorCode, isCodeError, message }: z.output<typeof threw>): StopReason => ({
  errorCode,
  ...(isCodeError && errorCode === 'script_threw' ? { isCodeError: true as const } : {}),
  message: limitMessages[errorCode] ?? truncateMessage(message),
});

function refusalResult({ errorCode, what, steps }: z.output<typeof refused>): ScriptResult {
  if (errorCode === 'output_too_large') return tooLarge;
  const path = jsonPointer(...steps);
  const message =
    errorCode === 'output_too_deep'
      ? `the result is nested more than ${jsonLimits.levels} levels deep`
      : `the result ${path === '' ? 'is' : `contains at ${path}`} ${what}`;
  return { kind: 'stopped', errorCode, message: truncateMessage(message), path };
}

/** Digits are bounded, because a script may forge its stack and the number must stay storable. */
const frame = /\(script\.js:(\d{1,7}):(\d{1,7})\)/;

/** The innermost location inside the script, if the stack has a valid one. */
function locationOf(stack: string, code: string): { readonly line?: number; readonly column?: number } {
  const found = frame.exec(stack);
  if (found === null) return {};
  const line = Number(found[1]);
  const text = code.split('\n')[line - 1];
  if (text === undefined) return {};
  const column = Number(found[2]) - (line === 1 ? scriptPrefix.length : 0);
  return column < 1 || column > text.length + 1 ? { line } : { line, column };
}

export const truncateMessage = (text: string): string =>
  text.length > scriptLimits.messageLength ? `${text.slice(0, scriptLimits.messageLength).toWellFormed()}…` : text;
