/** What an attempt came to, as it may be kept. */
import type { Failure } from '../log/events.ts';
import type { Outcome } from './outcome.ts';
import { faultOfPayload } from './payload-limits.ts';

/** A value that cannot be kept, for its size, its depth or its numbers, is a failure, and what it cost is counted even so. */
export function storable(outcome: Outcome): Outcome {
  const failure = faultOf(outcome);
  if (failure === undefined) return outcome;
  return {
    kind: 'failed',
    failure,
    ...(outcome.kind !== 'finished' || outcome.tokens === undefined ? {} : { tokens: outcome.tokens }),
  };
}

function faultOf(outcome: Outcome): Failure | undefined {
  switch (outcome.kind) {
    case 'finished':
    case 'sleeping':
      return faultOfPayload(outcome.output);
    case 'calling':
      return faultOfPayload(outcome.input, 'input');
    case 'expanding':
      return faultOfPayload(outcome.items, 'items');
    case 'failed':
    case 'awaiting':
      return undefined;
  }
}
