/** Fires schedules when they are due, retries failed deliveries, and removes completed schedules. Delivery is at least once. */
import { type Backoff, nextAttempt } from '../../base/retry.ts';
import { arns } from '../aws-environment.ts';
import { timingOf } from './expression.ts';
import type { Definition, Schedule, ScheduleStore } from './schedule-store.ts';

export interface Delivery {
  readonly schedule: Pick<Schedule, 'group' | 'name'>;
  readonly target: Definition['Target'];
  readonly input: string;
}

export interface RunnerParts {
  readonly store: ScheduleStore;
  readonly deliver: (delivery: Delivery) => Promise<void>;
  readonly warn: (line: string) => void;
  readonly now?: () => number;
}

export interface Runner {
  /** Sets the timer again. Call it after every change of the store. */
  rearm(): void;
  /** Fires everything that is due, once. */
  fireDue(): Promise<void>;
  /** Stops firing, and waits for running deliveries. */
  stop(): Promise<void>;
}

/** The service's defaults: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html */
const defaultRetries = 185;
const defaultMaxAgeSeconds = 86_400;
/** The maximum delay of a Node timer, after which it is set again. */
const maxTimerMs = 2_147_483_647;

/** A failed delivery is retried after 1, 2, 4 … seconds, a minute at most. */
const deliveryBackoff: Backoff = { baseMs: 1_000, maxMs: 60_000 };

/** The payload for a target: its input with the context attributes filled in, or the default event. */
function inputOf({ group, name, definition, dueAt, failures }: Schedule, executionId: string): string {
  const scheduledTime = new Date(dueAt ?? 0).toISOString().replace(/\.\d+Z$/, 'Z');
  const scheduleArn = arns.schedule(group, name);
  if (definition.Target.Input === undefined) {
    const event = {
      version: '0',
      id: executionId,
      'detail-type': 'Scheduled Event',
      source: 'aws.scheduler',
      time: scheduledTime,
    };
    return JSON.stringify({ ...event, resources: [scheduleArn], detail: '{}' });
  }
  return definition.Target.Input.replaceAll('<aws.scheduler.schedule-arn>', scheduleArn)
    .replaceAll('<aws.scheduler.scheduled-time>', scheduledTime)
    .replaceAll('<aws.scheduler.execution-id>', executionId)
    .replaceAll('<aws.scheduler.attempt-number>', String(failures + 1));
}

/** The schedule after a due time has been processed; undefined where it is to be deleted. */
function advance(schedule: Schedule, now: number): Schedule | undefined {
  const { definition, dueAt } = schedule;
  const timing = timingOf(definition);
  const next = dueAt === undefined ? undefined : timing?.next(dueAt, now);
  if (next === undefined && definition.ActionAfterCompletion === 'DELETE') return undefined;
  return { ...schedule, dueAt: next, tryAt: next, failures: 0 };
}

export function createRunner({ store, deliver, warn, now = Date.now }: RunnerParts): Runner {
  const firing = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function storeResult(fired: Schedule, next: Schedule | undefined): void {
    const current = store.get(fired);
    // The schedule was deleted or changed during the delivery: the change wins.
    if (current === undefined || JSON.stringify(current.definition) !== JSON.stringify(fired.definition)) return;
    if (next === undefined) store.delete(fired);
    else store.put(next);
  }

  async function fire(schedule: Schedule): Promise<void> {
    const { Target } = schedule.definition;
    try {
      await deliver({ schedule, target: Target, input: inputOf(schedule, crypto.randomUUID()) });
      storeResult(schedule, advance(schedule, now()));
    } catch (error) {
      const failures = schedule.failures + 1;
      const { MaximumRetryAttempts = defaultRetries, MaximumEventAgeInSeconds = defaultMaxAgeSeconds } = Target.RetryPolicy ?? {};
      const failedAt = now();
      const next = nextAttempt({ attempts: MaximumRetryAttempts + 1, backoff: deliveryBackoff }, failures, {
        remainingMs: (schedule.dueAt ?? 0) + MaximumEventAgeInSeconds * 1_000 - failedAt,
      });
      const isGivenUp = next.kind === 'give-up';
      warn(
        `schedule ${schedule.name}: ${error instanceof Error ? error.message : String(error)}${isGivenUp ? '; given up' : ''}`,
      );
      storeResult(schedule, isGivenUp ? advance(schedule, now()) : { ...schedule, failures, tryAt: failedAt + next.delayMs });
    }
  }

  function fireDue(): Promise<void> {
    const started: Promise<void>[] = [];
    for (const schedule of store.due(now())) {
      const key = `${schedule.group}/${schedule.name}`;
      if (firing.has(key)) continue;
      const delivery = fire(schedule).finally(() => firing.delete(key));
      firing.set(key, delivery);
      started.push(delivery);
    }
    return Promise.all(started).then(() => undefined);
  }

  function rearm(): void {
    clearTimeout(timer);
    const at = store.nextTryAt();
    if (stopped || at === undefined) return;
    // Not at once when overdue: schedules that are being delivered are still due in the store.
    const waitMs = Math.min(maxTimerMs, Math.max(at - now(), firing.size > 0 ? 100 : 0));
    timer = setTimeout(() => {
      void fireDue().then(rearm);
      rearm();
    }, waitMs);
  }

  return {
    rearm,
    fireDue,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await Promise.all(firing.values());
    },
  };
}
