/**
 * Dispatches the effects of a commit: jobs, timers, due times and notices. Any send may be lost here. A redelivery or the sweep then
 * repeats it.
 */
import { attempt } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { nextCheck } from '../../engine/log/heartbeat-timeout.ts';
import { durationMs } from '../../engine/time.ts';
import type { WorkJob } from '../../ports/jobs.ts';
import type { Deps } from '../deps.ts';
import { finalizeRun } from './finalize-run.ts';
import { childJob, slotJob, workJob, wakeJob } from './job-messages.ts';
import { sendJobAt } from './schedule-message.ts';
import { markDue } from './mark-due.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { notifyStart } from './notify-start.ts';

const noDelay = durationMs(0);

export async function dispatchEffects(deps: Deps, fold: RunFold, commit: Commit): Promise<void> {
  const immediateJobs: WorkJob[] = [];
  let hasNewWaits = false;
  for (const event of commit.events) {
    switch (event.type) {
      case 'NODE_DISPATCHED':
        if (event.notBefore !== undefined) await sendJobAt(deps, event.notBefore, workJob(fold.head, commit.number, event));
        else if (event.via !== 'inline') immediateJobs.push(workJob(fold.head, commit.number, event));
        break;
      case 'NODE_RETRIED':
        if (event.via !== 'inline') {
          await sendJobAt(
            deps,
            event.retryAt,
            workJob(fold.head, commit.number, { ...event, attempt: attempt(event.attempt + 1) }),
          );
        }
        break;
      case 'SLEEP_STARTED':
        hasNewWaits = true;
        await sendJobAt(deps, event.wakeAt, wakeJob(fold.head, commit.number, event));
        break;
      case 'SLOT_AWAITED':
        if (fold.state.admission !== undefined)
          await sendJobAt(deps, event.notBefore ?? deps.clock.now(), slotJob(fold.head, fold.state.admission));
        break;
      // No due time is needed: the sweep checks a running run every few minutes and finds a lost wake-up.
      case 'LOOP_PAUSED':
        await sendJobAt(deps, event.wakeAt, wakeJob(fold.head, commit.number, event));
        break;
      case 'SIGNAL_AWAITED':
        hasNewWaits = true;
        if (event.expiresAt !== undefined) await sendJobAt(deps, event.expiresAt, wakeJob(fold.head, commit.number, event));
        break;
      case 'SUBFLOW_CALLED':
        hasNewWaits = true;
        await deps.jobs.sendDelayed(childJob(fold.head, event, event.childRunId), noDelay);
        if (event.expiresAt !== undefined) await sendJobAt(deps, event.expiresAt, wakeJob(fold.head, commit.number, event));
        break;
      default:
        break;
    }
  }
  if (immediateJobs.length > 0) await deps.jobs.send(immediateJobs);
  if (isTerminal(fold.state.progress)) return finalizeRun(deps, fold);
  if (hasNewWaits) await markDue(deps, fold.head, nextCheck(fold.state, fold.head.deadlineAt, deps.clock.now()));
  await notifyStart(deps, fold, commit);
}
