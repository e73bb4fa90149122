import type { JsonValue } from '../engine/json.ts';

/** The value at a JSON pointer (RFC 6901); undefined where there is none. */
export function valueAt(value: JsonValue, pointer: string): JsonValue | undefined {
  const steps = pointer.split('/').slice(1);
  let found: JsonValue | undefined = value;
  for (const step of steps) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Object.entries(found).find(([name]) => name === key)?.[1];
  }
  return found;
}
