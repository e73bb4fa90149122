/** Text in, JSON out that is safe to store, hash and walk: nothing in it means something else further on. */
import type { Fault } from '../../../lib/api/errors.ts';
import { pointer } from '../../../lib/engine/graph/findings.ts';
import { faultInBody } from '../../../lib/engine/tree.ts';

export type ReadJson =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] };

export const readJson = (text: string): ReadJson => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'the body is not JSON';
    return { kind: 'refused', faults: [{ place: '', code: 'not_json', message }] };
  }
  const fault = faultInBody(value);
  if (fault === undefined) return { kind: 'read', value };
  return {
    kind: 'refused',
    faults: [{ place: pointer(...fault.steps), code: fault.code, message: `the body ${fault.message}` }],
  };
};
