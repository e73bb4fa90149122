/**
 * How large the values of a run may be. Whoever works on a node holds its context, its inputs and its output in memory at once,
 * as text and as values: at 16 MB each they fit a function of 512 MB, the smallest that moves runs.
 */
import type { Payload } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { sizeOf } from '../log/loop-state.ts';

export const payloadLimits = {
  /** of a node, or of a run, as JSON */
  outputBytes: 16_777_216,
  /** what one script, one look-up of all of `ctx`, or one resolved text may come to */
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

/** Undefined where the output may be kept. */
export function outputTooLarge(output: Payload): Failure | undefined {
  const bytes = sizeOf(output);
  if (bytes <= payloadLimits.outputBytes) return undefined;
  const message = `the output has ${bytes} bytes of JSON, and may have ${payloadLimits.outputBytes}`;
  return { cause: 'invalid', code: 'output_too_large', message };
}
