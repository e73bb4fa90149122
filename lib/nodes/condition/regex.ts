/**
 * Regular expressions by RE2: the time is linear in the text, whatever the pattern, so an author's `(a+)+$` holds up
 * no commit. What has no linear-time matching, look-arounds and back-references, is refused when the workflow is saved.
 */
import { RE2JS } from 're2js';
import { asText } from '../../engine/graph/template.ts';
import type { JsonValue } from '../../engine/json.ts';

/** In characters. The largest program they allow takes about half a second over the longest text; a usual one, 20 ms. */
const longest = { pattern: 1_000, text: 100_000 } as const;

/** Finds the pattern anywhere in the text; anchors say otherwise. A pattern or text that is no good matches nothing. */
export function matchesRegex(value: JsonValue, pattern: JsonValue): boolean {
  const text = asText(value);
  if (typeof pattern !== 'string' || text.length > longest.text) return false;
  const compiled = compileRegex(pattern);
  return 'regex' in compiled && compiled.regex.test(text);
}

export function compileRegex(
  pattern: string,
): { readonly regex: RE2JS } | { readonly code: 'regex_unsupported' | 'config_invalid'; readonly message: string } {
  if (pattern.length > longest.pattern)
    return { code: 'config_invalid', message: `a pattern has at most ${longest.pattern} characters` };
  try {
    return { regex: RE2JS.compile(pattern) };
  } catch (refusal) {
    const reason = refusal instanceof Error ? refusal.message : String(refusal);
    if (!isBacktrackingRegex(pattern)) return { code: 'config_invalid', message: reason };
    return { code: 'regex_unsupported', message: `${reason}; look-arounds and back-references are not supported` };
  }
}

/** A sound pattern elsewhere, refused here. It is compiled and never run. */
const isBacktrackingRegex = (pattern: string): boolean => {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
};
