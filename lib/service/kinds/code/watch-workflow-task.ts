/** Watches a running workflow task: sends heartbeats, passes on commits of other writers, and ends the task in time. */
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import type { Head } from '../../../engine/log/head.ts';
import { type DurationMs, type Instant, after, between, durationMs, instant, seconds } from '../../../engine/time.ts';
import type { WorkflowTaskHandle } from '../../../ports/programs.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import { untilNextCheck } from '../../commit/deadline.ts';
import type { Deps } from '../../deps.ts';
import type { WorkflowTaskLog } from './workflow-task-log.ts';
import { sendHeartbeat } from '../../run-log/attempt-heartbeats.ts';

/** Well within the shortest heartbeat timeout (`engine/log/heartbeat-timeout.ts`). */
const heartbeatInterval = seconds(60);
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
    deliveries,
  }: { readonly killAt: Instant; readonly done: AbortSignal; readonly deliveries: Deliveries | undefined },
): Promise<void> {
  const { clock } = deps;
  const wakeUp = createWakeUp(clock, done);
  log.onStop = wakeUp.wake;
  let lastHeartbeatAt = clock.now();
  let mustEndAt = killAt;
  let hasRequestedEnd = false;
  let hasRequestedRollback = log.ending !== undefined;
  while (!done.aborted) {
    const remaining = between(clock.now(), mustEndAt);
    if (remaining <= 0) return workflowTask.kill('the code did not end in time');
    await wakeUp.sleep(untilNextCheck(deps, { head }, minDuration(remaining, checkInterval)));
    if (done.aborted) return;
    try {
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
      const now = clock.now();
      if (between(lastHeartbeatAt, now) < heartbeatInterval || hasRequestedEnd) continue;
      await sendHeartbeat(deps, head, { ...log.node, attempt: log.attempt }, deliveries);
      lastHeartbeatAt = now;
    } catch (error) {
      // A missed check or heartbeat causes a duplicate execution at worst.
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}

const minDuration = (one: DurationMs, other: DurationMs): DurationMs => durationMs(Math.min(one, other));

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
