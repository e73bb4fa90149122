/** Text in, JSON out that is safe to store, hash and walk: nothing in it means something else further on. */
import type { ErrorDetail } from '../../../lib/api/errors.ts';
import { jsonPointer } from '../../../lib/engine/graph/findings.ts';
import { findBodyError } from '../../../lib/engine/validate-json.ts';

export type ReadJsonResult =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly errors: readonly ErrorDetail[] };

export const readJson = (text: string): ReadJsonResult => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'the body is not JSON';
    return { kind: 'refused', errors: [{ pointer: '', code: 'not_json', message }] };
  }
  const finding = findBodyError(value);
  if (finding === undefined) return { kind: 'read', value };
  return {
    kind: 'refused',
    errors: [{ pointer: jsonPointer(...finding.path), code: finding.code, message: `the body ${finding.message}` }],
  };
};
