/**
 * How large the values of a run may be. Whoever works on a node holds its context, its inputs and its output in memory at once,
 * as text and as values: at 16 MB each they fit a function of 512 MB, the smallest that moves runs.
 */
import type { Payload } from '../json.ts';
import { minJsonLength } from '../min-json-length.ts';
import type { Failure } from '../log/events.ts';
import { payloadSize } from '../log/loop-state.ts';
import { findOutputError } from '../validate-json.ts';
import { jsonPointer } from './findings.ts';

export const payloadLimits = {
  /** of a node, or of a run, as JSON */
  outputBytes: 16_777_216,
  /** what one script, one look-up of all of `ctx`, or the texts of one node may come to */
  contextBytes: 16_777_216,
} as const;

/** Raised where a context is put together; whoever runs nodes makes a failure of it. */
export class ContextTooLarge extends Error {
  override readonly name = 'ContextTooLarge';
  readonly failure: Failure;

  constructor(bytes: number) {
    const message = `what it looks at has at least ${bytes} bytes, and may have ${payloadLimits.contextBytes}`;
    super(message);
    this.failure = { cause: 'invalid', code: 'context_too_large', message };
  }
}

/** What a value is for, as the codes of its refusals begin. */
type PayloadRole = 'output' | 'input' | 'items';

/**
 * Undefined where the value may be kept. Its size is looked at first, as far as the limit and without a text: one value may stand
 * in it thousands of times, and whatever goes through all of it would go through each. Then its depth: whatever else is asked of
 * it may recurse. What is stored apart was looked at before it was stored.
 */
export function checkPayload(payload: Payload, role: PayloadRole = 'output'): Failure | undefined {
  const minBytes = 'value' in payload ? minJsonLength(payload.value, payloadLimits.outputBytes) : payload.bytes;
  if (minBytes > payloadLimits.outputBytes) return tooLarge(role, minBytes);
  const jsonError = 'value' in payload ? findOutputError(payload.value) : undefined;
  if (jsonError !== undefined) {
    const code = jsonError.code === 'too_deep' ? `${role}_too_deep` : `${role}_invalid`;
    const path = jsonPointer(...jsonError.path);
    return { cause: 'invalid', code, message: `the ${role} ${jsonError.message}, at ${shortenPath(path)}`, details: { path } };
  }
  const bytes = payloadSize(payload);
  return bytes <= payloadLimits.outputBytes ? undefined : tooLarge(role, bytes);
}

const tooLarge = (role: PayloadRole, bytes: number): Failure => ({
  cause: 'invalid',
  code: `${role}_too_large`,
  message: `the ${role} has at least ${bytes} bytes of JSON, and may have ${payloadLimits.outputBytes}`,
});

const shortenPath = (path: string): string =>
  path.length <= maxPathLength ? path : `${path.slice(0, maxPathLength).toWellFormed()}…`;
/** Of a place in a message, which has all of it in its details. */
const maxPathLength = 200;
