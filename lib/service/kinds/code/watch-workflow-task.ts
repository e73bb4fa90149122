/** Watches a running workflow task: sends heartbeats, passes on commits of other writers, and ends the task in time. */
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import type { Head } from '../../../engine/log/head.ts';
import { dueAtOf } from '../../../engine/log/heartbeat-timeout.ts';
import type { OpenNode } from '../../../engine/log/node-state.ts';
import { type DurationMs, type Instant, after, between, instant, seconds } from '../../../engine/time.ts';
import type { WorkflowTaskHandle } from '../../../ports/programs.ts';
import type { Deps } from '../../deps.ts';
import type { WorkflowTaskLog } from './workflow-task-log.ts';
import { type CheckedAttempt, watchWithHeartbeats } from '../../execution/heartbeat-loop.ts';

/** With this interval, a cancellation reaches a step function within 5 seconds. */
const checkInterval = seconds(3);
/** After a cancellation, code that does not end within this time is killed with its thread. */
const maxShutdownTime = seconds(10);

/**
 * @param killAt the time at which the task is killed if it still runs
 * @param done ends the watching
 * @param deliveries records of earlier deliveries of the task
 */
export async function watchWorkflowTask(
  deps: Pick<Deps, 'clock' | 'log'>,
  head: Pick<Head, 'address' | 'deadlineAt' | 'expiresAt'>,
  log: WorkflowTaskLog,
  workflowTask: WorkflowTaskHandle,
  {
    killAt,
    done,
    open,
    deliveries,
  }: {
    readonly killAt: Instant;
    readonly done: AbortSignal;
    readonly open: OpenNode;
    readonly deliveries: Deliveries | undefined;
  },
): Promise<void> {
  const { clock } = deps;
  const wakeUp = createWakeUp(clock, done);
  log.onStop = wakeUp.wake;
  let mustEndAt = killAt;
  let hasRequestedEnd = false;
  let hasRequestedRollback = log.ending !== undefined;
  const check = async (): Promise<CheckedAttempt> => {
    await log.enforceDeadline();
    const checked = await log.check();
    if (checked.kind === 'ended' && !hasRequestedEnd) {
      hasRequestedEnd = true;
      mustEndAt = instant(Math.min(mustEndAt, after(clock.now(), maxShutdownTime)));
      workflowTask.cancel(checked.reason);
    } else if (checked.kind === 'interrupts') {
      const { runOutcome } = checked.history;
      if (runOutcome !== undefined && !hasRequestedRollback) {
        hasRequestedRollback = true;
        workflowTask.cancel(
          runOutcome.status === 'cancelled' ? (runOutcome.reason ?? 'the run was cancelled') : runOutcome.error.message,
        );
      }
      workflowTask.replaceHistory(checked.history);
    }
    return hasRequestedEnd ? 'ending' : 'wanted';
  };
  const watched = {
    head,
    open,
    deliveries,
    dueAt: dueAtOf(open),
    untilLimit: () => between(clock.now(), mustEndAt),
    stopAtLimit: () => workflowTask.kill('the code did not end in time'),
    checkInterval: () => checkInterval,
    check,
  };
  return watchWithHeartbeats(deps, watched, done, wakeUp.sleep);
}

/** A sleep that `wake` ends early. A `wake` without a current sleep ends the next sleep at once. */
function createWakeUp(clock: Deps['clock'], done: AbortSignal) {
  let current = new AbortController();
  const wake = (): void => current.abort();
  done.addEventListener('abort', wake);
  return {
    wake,
    sleep: async (wait: DurationMs): Promise<void> => {
      await clock.sleep(wait, current.signal);
      if (!done.aborted) current = new AbortController();
    },
  };
}
