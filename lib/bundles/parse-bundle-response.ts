/** Validates the HTTP response that a thread returns. Messages never quote it, because it is untrusted. */
import type { JsonValue } from '../engine/json.ts';
import type { BundleResult } from '../ports/bundles.ts';
import { responseLimits } from './response-limits.ts';
import { findBodyError } from '../engine/validate-json.ts';

const invalidResponse = (reason: string): BundleResult => ({ kind: 'crashed', message: `the response ${reason}` });

/** A body that is not JSON counts as absent. A body that cannot be stored makes the response invalid. */
export function parseBundleResponse(status: number, text: string): BundleResult {
  if (Buffer.byteLength(text) > responseLimits.bodyBytes)
    return invalidResponse(`is larger than ${responseLimits.bodyBytes} bytes`);
  let body: JsonValue;
  try {
    body = JSON.parse(text);
  } catch {
    return { kind: 'responded', status, body: undefined };
  }
  const finding = findBodyError(body);
  return finding === undefined ? { kind: 'responded', status, body } : invalidResponse(finding.message);
}
