/** Text in, JSON out that is safe to store, hash and walk: nothing in it means something else further on. */
import type { Fault } from '../../../lib/api/errors.ts';
import { pointer } from '../../../lib/engine/graph/findings.ts';

export type ReadJson =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] };

/** Deeper nesting than any definition or input has; what walks a value by recursion stays far from its stack's end. */
const deepest = 100;

export const readJson = (text: string): ReadJson => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'the body is not JSON';
    return { kind: 'refused', faults: [{ place: '', code: 'not_json', message }] };
  }
  const fault = firstFault(value);
  return fault === undefined ? { kind: 'read', value } : { kind: 'refused', faults: [fault] };
};

/**
 * `1e999` parses to Infinity and a lone surrogate is no Unicode: neither can be stored as it came. `__proto__` as a key
 * means something else to code that copies objects.
 */
const firstFault = (root: unknown): Fault | undefined => {
  const open: { readonly value: unknown; readonly steps: readonly (string | number)[] }[] = [{ value: root, steps: [] }];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const { value, steps } = top;
    const fault = (code: string, message: string): Fault => ({ place: pointer(...steps), code, message });
    if (steps.length > deepest) return fault('too_deep', `nested more than ${deepest} levels deep`);
    if (typeof value === 'number' && !Number.isFinite(value)) return fault('not_finite', 'a number is too large');
    if (typeof value === 'string' && !value.isWellFormed()) return fault('not_unicode', 'a text holds half a character');
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, part] of Object.entries(value)) {
      if (key === '__proto__' || !key.isWellFormed())
        return fault('key_refused', `the key ${JSON.stringify(key)} is not allowed`);
      open.push({ value: part, steps: [...steps, key] });
    }
  }
  return undefined;
};
