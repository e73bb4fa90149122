/** One-time EventBridge schedules that send to the delay queue and delete themselves. */
import { createHash } from 'node:crypto';
import { ConflictException, CreateScheduleCommand, type SchedulerClient } from '@aws-sdk/client-scheduler';
import { jobBody } from '../codec/jobs.ts';
import { type Instant, after, instant, iso, minutes } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Timers } from '../ports/timers.ts';
import { callService } from './call-service.ts';

export interface ScheduleSettings {
  readonly group: string;
  /** a standard queue, because a FIFO target would need content-based deduplication */
  readonly queueArn: string;
  /** the role with which the schedule sends to the queue */
  readonly roleArn: string;
}

/** Schedules are precise to a minute, and a schedule in the past might never fire. */
const minLeadTime = minutes(1);

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
