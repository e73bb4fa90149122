/**
 * Regular expressions by RE2: the time is linear in the text, whatever the pattern, so an author's `(a+)+$` holds up
 * no commit. What has no linear-time matching, look-arounds and back-references, is refused when the workflow is saved.
 */
import { RE2JS } from 're2js';
import { countedText } from '../../engine/graph/template.ts';
import type { NodeWork } from '../../engine/graph/work-limits.ts';
import type { JsonValue } from '../../engine/json.ts';

/** In characters. The largest program they allow takes about half a second over the longest text; a usual one, 20 ms. */
const maxLengths = { pattern: 1_000, text: 100_000 } as const;

/** Finds the pattern anywhere in the text; anchors say otherwise. A pattern or text that is no good matches nothing. */
export function matchesRegex(value: JsonValue, pattern: JsonValue, work: NodeWork): boolean {
  const text = typeof value === 'string' ? value : countedText(value, work);
  if (typeof pattern !== 'string' || pattern.length > maxLengths.pattern || text.length > maxLengths.text) return false;
  work.matching(pattern.length * compileStepsPerCharacter);
  const compiled = compileRegex(pattern);
  if (!('regex' in compiled)) return false;
  work.matching(Math.ceil(text.length * (1 + compiled.regex.programSize() / typicalProgramSize)));
  return compiled.regex.test(text);
}

/**
 * What is counted of a match is its text, once for a usual program and more for a larger one; a step takes 0.1 to 0.5 µs. To
 * compile a character of a pattern takes as long as 40 of them, where it stands for a class of Unicode's.
 */
const typicalProgramSize = 100;
const compileStepsPerCharacter = 40;

export function compileRegex(
  pattern: string,
): { readonly regex: RE2JS } | { readonly code: 'regex_unsupported' | 'config_invalid'; readonly message: string } {
  if (pattern.length > maxLengths.pattern)
    return { code: 'config_invalid', message: `a pattern has at most ${maxLengths.pattern} characters` };
  try {
    return { regex: RE2JS.compile(pattern) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
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
