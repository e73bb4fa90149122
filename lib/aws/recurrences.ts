/** Recurring EventBridge schedules that send to the delay queue, one for each setting of a schedule. */
import { defined } from '../base/defined.ts';
import { createHash } from 'node:crypto';
import {
  ConflictException,
  CreateScheduleCommand,
  DeleteScheduleCommand,
  ResourceNotFoundException,
  type SchedulerClient,
} from '@aws-sdk/client-scheduler';
import { fireBody } from '../codec/schedules.ts';
import type { Recurrence as Recurring, Timing } from '../engine/schedule/timing.ts';
import type { Instant } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Recurrence, Recurrences } from '../ports/recurrences.ts';
import type { ScheduleSetting } from '../ports/schedules.ts';
import { callService } from './call-service.ts';
import { scopeKey } from './run-keys.ts';
import type { ScheduleSettings } from './timers.ts';

/** EventBridge Scheduler replaces it with the due time, equal in all delivery attempts. */
const scheduledTimePlaceholder = '<aws.scheduler.scheduled-time>';
/** EventBridge Scheduler's limits of `MaximumEventAgeInSeconds`. */
const [minAge, maxAge] = [60, 86_400];

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
