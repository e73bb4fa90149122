/** EventBridge schedules that send to the delay queue: one-time timers, and recurring fires of schedules. */
import { createHash } from 'node:crypto';
import {
  ConflictException,
  CreateScheduleCommand,
  type SchedulerClient,
  DeleteScheduleCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-scheduler';
import { defined } from '../base/defined.ts';
import { jobBody } from '../codec/jobs.ts';
import { fireBody } from '../codec/schedules.ts';
import type { Recurrence as Recurring, Timing } from '../engine/schedule/timing.ts';
import { type Instant, after, instant, iso, minutes } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Timers } from '../ports/jobs.ts';
import type { Recurrence, Recurrences, ScheduleSetting } from '../ports/schedules.ts';
import { callService } from './call-service.ts';
import type { Settings } from './environment.ts';
import { scopeKey } from './run-keys.ts';

export interface ScheduleSettings {
  readonly group: string;
  /** a standard queue, because a FIFO target would need content-based deduplication */
  readonly queueArn: string;
  /** the role with which the schedule sends to the queue */
  readonly roleArn: string;
}

export const schedulerSettings = ({
  scheduleGroup: group,
  delayQueueArn: queueArn,
  scheduleRoleArn: roleArn,
}: Settings): ScheduleSettings => ({ group, queueArn, roleArn });

/** Schedules are precise to a minute, and a schedule in the past might never fire. */
const minLeadTime = minutes(1);

/** One-time EventBridge schedules that send to the delay queue and delete themselves. */
export class SchedulerTimers implements Timers {
  readonly #client: SchedulerClient;
  readonly #settings: ScheduleSettings;
  readonly #clock: Clock;

  constructor(client: SchedulerClient, settings: ScheduleSettings, clock: Clock) {
    this.#client = client;
    this.#settings = settings;
    this.#clock = clock;
  }

  async set({ name, at, job }: Parameters<Timers['set']>[0]): Promise<void> {
    const scheduleName = scheduleNameOf(name);
    const fireAt = instant(Math.max(at, after(this.#clock.now(), minLeadTime)));
    const command = new CreateScheduleCommand({
      Name: scheduleName,
      GroupName: this.#settings.group,
      ClientToken: scheduleName,
      ScheduleExpression: `at(${wholeSecond(fireAt)})`,
      ScheduleExpressionTimezone: 'UTC',
      ActionAfterCompletion: 'DELETE',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { Arn: this.#settings.queueArn, RoleArn: this.#settings.roleArn, Input: jobBody(job) },
    });
    try {
      await callService('the scheduler', () => this.#client.send(command));
    } catch (error) {
      // The timer of this name exists already.
      if (!(error instanceof ConflictException)) throw error;
    }
  }
}

/** A schedule name has at most 64 characters of `[0-9a-zA-Z-_.]`. Timer names are longer, so their digest (43) is used. */
const scheduleNameOf = (name: string): string => createHash('sha256').update(name).digest('base64url');

/** `yyyy-mm-ddThh:mm:ss`, rounded up, because an early wake job must be sent again. */
const wholeSecond = (moment: Instant): string =>
  iso(instant(Math.ceil(moment / 1_000) * 1_000)).slice(0, 'yyyy-mm-ddThh:mm:ss'.length);

/** EventBridge Scheduler replaces it with the due time, equal in all delivery attempts. */
const scheduledTimePlaceholder = '<aws.scheduler.scheduled-time>';
/** EventBridge Scheduler's limits of `MaximumEventAgeInSeconds`. */
const [minAge, maxAge] = [60, 86_400];

/** Recurring EventBridge schedules that send to the delay queue, one for each setting of a schedule. */
export class SchedulerRecurrences implements Recurrences {
  readonly #client: SchedulerClient;
  readonly #settings: ScheduleSettings;
  readonly #clock: Clock;

  constructor(client: SchedulerClient, settings: ScheduleSettings, clock: Clock) {
    this.#client = client;
    this.#settings = settings;
    this.#clock = clock;
  }

  async set({ setting, timing, firstAt, maxDeliveryAge }: Recurrence): Promise<void> {
    const name = nameOf(setting);
    const command = new CreateScheduleCommand(
      defined({
        Name: name,
        GroupName: this.#settings.group,
        ClientToken: name,
        Description: `${setting.projectId}/${setting.environment}: schedule ${setting.scheduleId}`,
        ...expressionOf(timing.recurrence),
        ...this.#startDate(timing, firstAt),
        EndDate: timing.endAt === undefined ? undefined : new Date(timing.endAt),
        ActionAfterCompletion: 'DELETE',
        FlexibleTimeWindow: { Mode: 'OFF' },
        Target: {
          Arn: this.#settings.queueArn,
          RoleArn: this.#settings.roleArn,
          Input: fireBody(setting, scheduledTimePlaceholder),
          RetryPolicy: {
            MaximumEventAgeInSeconds: Math.min(maxAge, Math.max(minAge, Math.ceil(maxDeliveryAge / 1_000))),
            MaximumRetryAttempts: 185,
          },
        },
      }),
    );
    try {
      await callService('the scheduler', () => this.#client.send(command));
    } catch (error) {
      // A setting never changes, so the existing schedule of this name is equal.
      if (!(error instanceof ConflictException)) throw error;
    }
  }

  async remove(setting: ScheduleSetting): Promise<void> {
    const command = new DeleteScheduleCommand({ Name: nameOf(setting), GroupName: this.#settings.group });
    try {
      await callService('the scheduler', () => this.#client.send(command));
    } catch (error) {
      if (!(error instanceof ResourceNotFoundException)) throw error;
    }
  }

  /** A rate counts from its start date. The service refuses a start date in the past. */
  #startDate({ recurrence, startAt }: Timing, firstAt: Instant): { readonly StartDate?: Date } {
    if (recurrence.kind === 'rate') return { StartDate: new Date(firstAt) };
    return startAt === undefined || startAt <= this.#clock.now() ? {} : { StartDate: new Date(startAt) };
  }
}

const expressionOf = (recurrence: Recurring) =>
  recurrence.kind === 'cron'
    ? { ScheduleExpression: `cron(${recurrence.cron})`, ScheduleExpressionTimezone: recurrence.timeZone }
    : { ScheduleExpression: `rate(${rateText(recurrence.rate)})`, ScheduleExpressionTimezone: 'UTC' };

/** The service requires `1 minute` and `2 minutes`. */
const rateText = (rate: string): string => {
  const [count = '', unit = ''] = rate.trim().split(' ');
  return `${count} ${unit.replace(/s$/, '')}${count === '1' ? '' : 's'}`;
};

/** A name has at most 64 characters of `[0-9a-zA-Z-_.]`; the digest has 43. */
const nameOf = (setting: ScheduleSetting): string => {
  const digest = createHash('sha256')
    .update(JSON.stringify([scopeKey(setting), setting.scheduleId, setting.incarnation, setting.setting]))
    .digest('base64url');
  return `schedule-${digest}`;
};
