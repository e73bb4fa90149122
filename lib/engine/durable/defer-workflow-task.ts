/** A drive that could not be driven is tried again: later each time, and without end, because no failure of the run's made it so. */
import { type Instant, after, durationMs, instant, minutes, seconds } from '../time.ts';
import type { Failure } from '../log/events.ts';
import type { OpenNode } from '../log/node-state.ts';
import { type Draft, emit } from './draft.ts';

/** Of the failure of a drive: the code asks for something else than its history says. */
export const divergedCode = 'replay_diverged';

/** What the code document says of workers that lack a definition: 5 s, doubled up to 5 minutes. */
const minDelay = seconds(5);
const maxDelay = minutes(5);

export function deferWorkflowTask(
  draft: Draft,
  { nodeId, iteration, attempt }: OpenNode,
  { failure, startedAt, endedAt }: { readonly failure: Failure; readonly startedAt: Instant; readonly endedAt: Instant },
): void {
  const { now, deadlineAt } = draft.tools;
  const delayMs = durationMs(Math.min(maxDelay, minDelay * 2 ** Math.min(attempt - 1, 20)));
  // At the deadline somebody looks at the run in any case.
  const retryAt = instant(Math.min(after(now, delayMs), Math.max(now, deadlineAt)));
  emit(draft, { type: 'NODE_RETRIED', nodeId, iteration, attempt, failure, delayMs, retryAt, via: 'queue', startedAt, endedAt });
}
