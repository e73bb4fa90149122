/**
 * How large the values of a run may be. Whoever works on a node holds its context, its inputs and its output in memory at once,
 * as text and as values: at 16 MB each they fit a function of 512 MB, the smallest that moves runs.
 */
import type { Payload } from '../json.ts';
import { leastLengthOf } from '../least-length.ts';
import type { Failure } from '../log/events.ts';
import { sizeOf } from '../log/loop-state.ts';
import { faultInOutput } from '../tree.ts';
import { pointer } from './findings.ts';

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
type What = 'output' | 'input' | 'items';

/**
 * Undefined where the value may be kept. Its size is looked at first, as far as the limit and without a text: one value may stand
 * in it thousands of times, and whatever goes through all of it would go through each. Then its depth: whatever else is asked of
 * it may recurse. What is stored apart was looked at before it was stored.
 */
export function faultOfPayload(payload: Payload, what: What = 'output'): Failure | undefined {
  const least = 'value' in payload ? leastLengthOf(payload.value, payloadLimits.outputBytes) : payload.bytes;
  if (least > payloadLimits.outputBytes) return tooLarge(what, least);
  const fault = 'value' in payload ? faultInOutput(payload.value) : undefined;
  if (fault !== undefined) {
    const code = fault.code === 'too_deep' ? `${what}_too_deep` : `${what}_invalid`;
    const path = pointer(...fault.steps);
    return { cause: 'invalid', code, message: `the ${what} ${fault.message}, at ${shortened(path)}`, details: { path } };
  }
  const bytes = sizeOf(payload);
  return bytes <= payloadLimits.outputBytes ? undefined : tooLarge(what, bytes);
}

const tooLarge = (what: What, bytes: number): Failure => ({
  cause: 'invalid',
  code: `${what}_too_large`,
  message: `the ${what} has at least ${bytes} bytes of JSON, and may have ${payloadLimits.outputBytes}`,
});

const shortened = (path: string): string => (path.length <= longestPath ? path : `${path.slice(0, longestPath).toWellFormed()}…`);
/** Of a place in a message, which has all of it in its details. */
const longestPath = 200;
