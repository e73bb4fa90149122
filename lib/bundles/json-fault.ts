/** What no stored value may hold, by the rules of a request's body. What another thread says may hold anything. */
import type { JsonValue } from '../engine/json.ts';
import { answerLimits } from './answer-limits.ts';

/** `1e999` parses to Infinity, half a character is no Unicode, `__proto__` copies as something else. */
export function faultIn(root: JsonValue, mostDepth: number = answerLimits.depth): string | undefined {
  // Without recursion: the depth that ends a stack is among what is looked for.
  const open: { readonly value: JsonValue; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const { value, depth } = top;
    if (depth > mostDepth) return `is nested more than ${mostDepth} levels deep`;
    if (typeof value === 'number' && !Number.isFinite(value)) return 'holds a number that is too large';
    if (typeof value === 'string' && !value.isWellFormed()) return 'holds a text with half a character';
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, part] of Object.entries(value)) {
      if (key === '__proto__' || !key.isWellFormed()) return 'holds a key that cannot be stored';
      open.push({ value: part, depth: depth + 1 });
    }
  }
  return undefined;
}
