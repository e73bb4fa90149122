/** Commit, then send: what a commit asks of the world. Every send may be lost here and is made again by a redelivery or the sweep. */
import { attempt } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { nextLook } from '../engine/log/silence.ts';
import { durationMs } from '../engine/time.ts';
import type { WorkJob } from '../ports/jobs.ts';
import type { Deps } from './deps.ts';
import { finishRun } from './finish-run.ts';
import { childJob, placeJob, workJob, wakeJob } from './jobs-of.ts';
import { later } from './later.ts';
import { markDue } from './mark-due.ts';
import type { RunFold } from './read-log.ts';
import { tellStart } from './tell-start.ts';

const noDelay = durationMs(0);

export async function carryOut(deps: Deps, fold: RunFold, commit: Commit): Promise<void> {
  const now: WorkJob[] = [];
  let hasParked = false;
  for (const event of commit.events) {
    switch (event.type) {
      case 'NODE_DISPATCHED':
        if (event.notBefore !== undefined) await later(deps, event.notBefore, workJob(fold.head, commit.number, event));
        else if (event.via !== 'inline') now.push(workJob(fold.head, commit.number, event));
        break;
      case 'NODE_RETRIED':
        if (event.via !== 'inline') {
          await later(deps, event.retryAt, workJob(fold.head, commit.number, { ...event, attempt: attempt(event.attempt + 1) }));
        }
        break;
      case 'SLEEP_STARTED':
        hasParked = true;
        await later(deps, event.wakeAt, wakeJob(fold.head, commit.number, event));
        break;
      case 'PLACE_AWAITED':
        if (fold.state.admission !== undefined)
          await later(deps, event.notBefore ?? deps.clock.now(), placeJob(fold.head, fold.state.admission));
        break;
      // The sweep looks at a run that works every few minutes; an alarm that was lost is found then.
      case 'LOOP_PAUSED':
        await later(deps, event.wakeAt, wakeJob(fold.head, commit.number, event));
        break;
      case 'SIGNAL_AWAITED':
        hasParked = true;
        if (event.expiresAt !== undefined) await later(deps, event.expiresAt, wakeJob(fold.head, commit.number, event));
        break;
      case 'SUBFLOW_CALLED':
        hasParked = true;
        await deps.jobs.sendLater(childJob(fold.head, event, event.childRunId), noDelay);
        if (event.expiresAt !== undefined) await later(deps, event.expiresAt, wakeJob(fold.head, commit.number, event));
        break;
      default:
        break;
    }
  }
  if (now.length > 0) await deps.jobs.send(now);
  if (isTerminal(fold.state.progress)) return finishRun(deps, fold);
  if (hasParked) await markDue(deps, fold.head, nextLook(fold.state, fold.head.deadlineAt, deps.clock.now()));
  await tellStart(deps, fold, commit);
}
