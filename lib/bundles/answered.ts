/** What a thread's answer is, seen from outside. It is never quoted in a message: it may hold anything. */
import type { JsonValue } from '../engine/json.ts';
import type { BundleAnswer } from '../ports/bundles.ts';
import { answerLimits } from './answer-limits.ts';
import { faultInBody } from '../engine/tree.ts';

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
  const fault = faultInBody(body);
  return fault === undefined ? { kind: 'answered', status, body } : refused(fault.message);
}
