/**
 * Limits of payload sizes. A worker holds a node's context, inputs and output in memory at once, as text and as values: at 16 MB each
 * they fit a function of 512 MB, the smallest that executes nodes.
 */
import { defined } from '../../base/defined.ts';
import { type Payload, minJsonLength } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { payloadSize } from '../log/node-state.ts';
import { findOutputError } from '../validate-json.ts';
import { jsonPointer } from './findings.ts';
import type { Outcome } from './outcome.ts';

export const payloadLimits = {
  /** output of a node or a run, as JSON */
  outputBytes: 16_777_216,
  /** total for one script, one read of the whole `ctx`, or the texts of one node */
  contextBytes: 16_777_216,
} as const;

/** Thrown when a context is assembled; the code that runs nodes turns it into a failure. */
export class ContextTooLarge extends Error {
  override readonly name = 'ContextTooLarge';
  readonly failure: Failure;

  constructor(bytes: number) {
    const message = `the context that the node reads has at least ${bytes} bytes; the limit is ${payloadLimits.contextBytes}`;
    super(message);
    this.failure = { cause: 'invalid', code: 'context_too_large', message };
  }
}

/** The use of a value, as the prefix of its error codes. */
type PayloadRole = 'output' | 'input' | 'items';

/**
 * Undefined if the value may be stored. The size is measured first, up to the limit and without making a text: one value can occur in
 * it thousands of times, and a full traversal would visit each. Then the depth, because other checks recurse. Offloaded values were
 * checked before they were stored.
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
  message: `the ${role} has at least ${bytes} bytes of JSON; the limit is ${payloadLimits.outputBytes}`,
});

const shortenPath = (path: string): string =>
  path.length <= maxPathLength ? path : `${path.slice(0, maxPathLength).toWellFormed()}…`;
/** Maximum length of a path in a message; the details contain all of it. */
const maxPathLength = 200;

/** A value that cannot be stored, for its size, depth or numbers, becomes a failure; its tokens still count. */
export function storableOutcome(outcome: Outcome): Outcome {
  const failure = storageFailureOf(outcome);
  if (failure === undefined) return outcome;
  return defined({
    kind: 'failed',
    failure,
    tokens: outcome.kind !== 'finished' || outcome.tokens === undefined ? undefined : outcome.tokens,
  });
}

function storageFailureOf(outcome: Outcome): Failure | undefined {
  switch (outcome.kind) {
    case 'finished':
    case 'sleeping':
      return checkPayload(outcome.output);
    case 'calling':
      return checkPayload(outcome.input, 'input');
    case 'expanding':
      return checkPayload(outcome.items, 'items');
    case 'failed':
    case 'awaiting':
      return undefined;
  }
}
