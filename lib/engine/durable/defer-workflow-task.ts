/** Defers a workflow task that cannot run now, with growing delay and without a limit, because the run has not failed. */
import { type Instant, after, durationMs, instant, minutes, seconds } from '../time.ts';
import type { Failure } from '../log/events.ts';
import type { OpenNode } from '../log/node-state.ts';
import { type Draft, emit } from './draft.ts';

/** Failure code of a workflow task whose code issues other commands than its history contains. */
export const divergedCode = 'replay_diverged';

/** Delays that the code document specifies for workers without the definition: 5 s, doubled up to 5 minutes. */
const minDelay = seconds(5);
export const maxTaskDeferral = minutes(5);

export function deferWorkflowTask(
  draft: Draft,
  { nodeId, iteration, attempt }: OpenNode,
  { failure, startedAt, endedAt }: { readonly failure: Failure; readonly startedAt: Instant; readonly endedAt: Instant },
): void {
  const { now, deadlineAt } = draft.tools;
  const delayMs = durationMs(Math.min(maxTaskDeferral, minDelay * 2 ** Math.min(attempt - 1, 20)));
  // The deadline is handled at its time in any case.
  const retryAt = instant(Math.min(after(now, delayMs), Math.max(now, deadlineAt)));
  emit(draft, { type: 'NODE_RETRIED', nodeId, iteration, attempt, failure, delayMs, retryAt, via: 'queue', startedAt, endedAt });
}
