/** What a thread's answer is, seen from outside. It is never quoted in a message: it may hold anything. */
import type { JsonValue } from '../engine/json.ts';
import type { BundleAnswer } from '../ports/bundles.ts';
import { answerLimits } from './answer-limits.ts';

const refused = (why: string): BundleAnswer => ({ kind: 'crashed', message: `the response ${why}` });

/** A body that is no JSON is an answer without one. One that could not be stored is no answer at all. */
export function answered(status: number, text: string): BundleAnswer {
  if (Buffer.byteLength(text) > answerLimits.bodyBytes) return refused(`is larger than ${answerLimits.bodyBytes} bytes`);
  let body: JsonValue;
  try {
    body = JSON.parse(text);
  } catch {
    return { kind: 'answered', status, body: undefined };
  }
  const fault = faultIn(body);
  return fault === undefined ? { kind: 'answered', status, body } : refused(fault);
}

/** By the rules of a request's body: `1e999` parses to Infinity, half a character is no Unicode, `__proto__` copies as something else. */
function faultIn(root: JsonValue): string | undefined {
  // Without recursion: the depth that ends a stack is among what is looked for.
  const open: { readonly value: JsonValue; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const { value, depth } = top;
    if (depth > answerLimits.depth) return `is nested more than ${answerLimits.depth} levels deep`;
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
