/** What an attempt came to, as it may be kept. */
import { defined } from '../defined.ts';
import type { Failure } from '../log/events.ts';
import type { Outcome } from './outcome.ts';
import { checkPayload } from './payload-limits.ts';

/** A value that cannot be kept, for its size, its depth or its numbers, is a failure, and what it cost is counted even so. */
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
