/**
 * Regular expressions with RE2: matching takes linear time for every pattern, so an author's `(a+)+$` cannot block a commit.
 * Validation rejects look-arounds and back-references, which RE2 does not support.
 */
import { RE2JS } from 're2js';
import { countedText } from '../../engine/graph/template.ts';
import type { NodeWork } from '../../engine/graph/work-limits.ts';
import type { JsonValue } from '../../engine/json.ts';

/** In characters. The largest pattern takes about 500 ms for the longest text, a typical pattern 20 ms. */
export const regexLimits = { pattern: 1_000, text: 100_000 } as const;

/** Finds the pattern anywhere in the text, unless it has anchors. An invalid or too long pattern or text does not match. */
export function matchesRegex(value: JsonValue, pattern: JsonValue, work: NodeWork): boolean {
  const text = typeof value === 'string' ? value : countedText(value, work);
  if (typeof pattern !== 'string' || pattern.length > regexLimits.pattern || text.length > regexLimits.text) return false;
  work.matching(pattern.length * compileStepsPerCharacter);
  const compiled = compileRegex(pattern);
  if (!('regex' in compiled)) return false;
  work.matching(Math.ceil(text.length * (1 + compiled.regex.programSize() / typicalProgramSize)));
  return compiled.regex.test(text);
}

/**
 * Work is counted in steps of 0.1 to 0.5 µs: one per character of text for a typical pattern, more for a larger one. Compiling a
 * pattern costs up to 40 steps per character, for example for a Unicode class.
 */
const typicalProgramSize = 100;
const compileStepsPerCharacter = 40;

export function compileRegex(
  pattern: string,
): { readonly regex: RE2JS } | { readonly code: 'regex_unsupported' | 'config_invalid'; readonly message: string } {
  if (pattern.length > regexLimits.pattern)
    return { code: 'config_invalid', message: `a pattern has at most ${regexLimits.pattern} characters` };
  try {
    return { regex: RE2JS.compile(pattern) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!isBacktrackingRegex(pattern)) return { code: 'config_invalid', message: reason };
    return { code: 'regex_unsupported', message: `${reason}; look-arounds and back-references are not supported` };
  }
}

/** Whether the pattern is valid for a backtracking engine. It is compiled, but never executed. */
const isBacktrackingRegex = (pattern: string): boolean => {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
};
