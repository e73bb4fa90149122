/** Limits an outcome to what can be stored. */
import { defined } from '../../base/defined.ts';
import type { Failure } from '../log/events.ts';
import type { Outcome } from './outcome.ts';
import { checkPayload } from './payload-limits.ts';

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
