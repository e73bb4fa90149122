/**
 * A JSON value as one types it: text without quotes is a text, such as a template; everything that is JSON is JSON. A text that would be
 * read as JSON is shown with quotes, so that showing and reading are exact inverses.
 */
import type { JsonValue } from '../../engine/json.ts';

export function looseText(value: JsonValue): string {
  if (typeof value !== 'string') return JSON.stringify(value, undefined, 2);
  return value === '' || parsed(value) !== undefined || looksLikeJson(value) ? JSON.stringify(value) : value;
}

/** Undefined: the text begins like JSON and is none yet. */
export function looseValue(text: string): JsonValue | undefined {
  const value = parsed(text);
  if (value !== undefined) return value;
  return looksLikeJson(text) ? undefined : text;
}

const parsed = (text: string): JsonValue | undefined => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const looksLikeJson = (text: string): boolean => /^\s*(?:\{(?!\{)|\[|")/.test(text);
