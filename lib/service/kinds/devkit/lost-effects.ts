/** What follows from an event, where the process that records it dies after the commit. */
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import { isTerminalRunEvent } from '../../../engine/devkit/events.ts';
import { resendTimeout } from '../../../engine/devkit/next-check.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { type Instant, after } from '../../../engine/time.ts';
import { markDue } from '../../commit/mark-due.ts';
import type { Deps } from '../../deps.ts';
import { finalizeUnlessDone } from '../../execution/recover-run.ts';
import { type DevKitFold, type World, devKitOf } from './world.ts';

/** Has the sweep check the run soon, before an event whose effects nothing else would repeat. */
export async function markBeforeCommit(deps: Deps, fold: DevKitFold, request: WorldRequest): Promise<void> {
  const now = deps.clock.now();
  if (needsCheck(fold, request, now)) await markDue(deps, fold.head, after(now, resendTimeout));
}

/**
 * Whether the event comes from a process that no message brings back, while the sweep may check the run only in hours or days. It sends
 * the message of the event, or completes the end, after the commit. The code's own events come with a message.
 */
function needsCheck(fold: DevKitFold, { event, correlationId = '' }: WorldRequest, now: Instant): boolean {
  if (isTerminal(fold.state.progress)) return false;
  if (event === 'hook_received' || event === 'run_cancelled') return true;
  if (event !== 'wait_completed') return false;
  const wait = devKitOf(fold).waits.get(correlationId);
  // An operator ends the sleep early. A fold that is older than the log may not have the sleep yet.
  return wait === undefined || (wait.resumeAt ?? now) > now;
}

/** A process that ended the run may have crashed before the effects of the end. The code's next call completes them. */
export async function completeEnd({ deps }: World, fold: DevKitFold, { event }: WorldRequest): Promise<void> {
  const isOfEnd = event === 'run_started' || isTerminalRunEvent(event);
  if (isOfEnd && isTerminal(fold.state.progress)) await finalizeUnlessDone(deps, fold);
}
