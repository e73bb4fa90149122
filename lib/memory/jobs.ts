/** Queues and timers in memory, on a virtual clock. */
import { type Hops, noHops } from '../engine/hops.ts';
import { invariant } from '../engine/invariant.ts';
import { type DurationMs, type Instant, after, seconds } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import {
  type DevKitJob,
  type WorkflowTaskJob,
  type Job,
  type Jobs,
  type JobsTogether,
  type MessageJob,
  type NodeJob,
  type ResultMessage,
  type WorkJob,
  maxQueueDelayMs,
  type Timers,
} from '../ports/jobs.ts';
import type { ScheduleFire } from '../ports/schedules.ts';
import { frozenCopy } from './frozen-copy.ts';

export interface DelayedJob {
  readonly job: Job;
  /** whole seconds after it was sent */
  readonly dueAt: Instant;
}

/** Queues in memory: sent messages stay in lists until a test or a simulation takes them. */
export class MemoryJobs implements Jobs {
  readonly #clock: Clock;
  /** node jobs, in the order of sending */
  readonly sent: NodeJob[] = [];
  /** node jobs that share a message */
  readonly together: JobsTogether[] = [];
  /** messages and workflow tasks for deployed code */
  readonly messages: (MessageJob | WorkflowTaskJob)[] = [];
  /** messages of the Workflow DevKit */
  readonly devKitMessages: DevKitJob[] = [];
  readonly delayed: DelayedJob[] = [];
  readonly results: ResultMessage[] = [];
  /** fires that were sent again */
  readonly fires: ScheduleFire[] = [];
  readonly #hops = new WeakMap<object, Hops>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param message the object that a `take…` method returned */
  hopsOf(message: Job | ResultMessage): Hops {
    return this.#hops.get(message) ?? noHops;
  }

  #copyWithHops<Message extends Job | ResultMessage>(message: Message, hops: Hops): Message {
    const copy = frozenCopy({ ...message });
    this.#hops.set(copy, hops);
    return copy;
  }

  async send(jobs: readonly WorkJob[], hops: Hops = noHops): Promise<void> {
    for (const job of jobs.map((each) => this.#copyWithHops(each, hops))) {
      if (job.kind === 'node') this.sent.push(job);
      else if (job.kind === 'devkit') this.devKitMessages.push(job);
      else this.messages.push(job);
    }
  }

  async sendTogether(jobs: readonly WorkJob[], hops: Hops = noHops): Promise<void> {
    const [first, ...rest] = jobs.flatMap((job) => (job.kind === 'node' ? [this.#copyWithHops(job, hops)] : []));
    if (first === undefined || rest.length === 0) return this.send(jobs, hops);
    this.together.push({ jobs: [first, ...rest] });
    const others = jobs.filter((job) => job.kind !== 'node');
    if (others.length > 0) await this.send(others, hops);
  }

  async sendFire(fire: ScheduleFire): Promise<void> {
    this.fires.push(frozenCopy(fire));
  }

  async sendDelayed(job: Job, delay: DurationMs, hops: Hops = noHops): Promise<void> {
    invariant(delay <= maxQueueDelayMs, `the delay of a message is at most ${maxQueueDelayMs} ms, not ${delay}`);
    this.delayed.push(
      frozenCopy({ job: this.#copyWithHops(job, hops), dueAt: after(this.#clock.now(), seconds(Math.ceil(delay / 1_000))) }),
    );
  }

  async sendResult(result: ResultMessage, hops: Hops = noHops): Promise<void> {
    this.results.push(this.#copyWithHops(result, hops));
  }

  /** Removes and returns all node jobs. */
  takeSent(): readonly NodeJob[] {
    return this.sent.splice(0);
  }

  /** Removes and returns all messages of several node jobs. */
  takeTogether(): readonly JobsTogether[] {
    return this.together.splice(0);
  }

  /** Removes and returns the due delayed jobs, the earliest first. */
  takeDue(): readonly Job[] {
    const now = this.#clock.now();
    const due = this.delayed.filter(({ dueAt }) => dueAt <= now).toSorted((one, other) => one.dueAt - other.dueAt);
    this.delayed.splice(0, this.delayed.length, ...this.delayed.filter(({ dueAt }) => dueAt > now));
    return due.map(({ job }) => job);
  }

  takeMessages(): readonly (MessageJob | WorkflowTaskJob)[] {
    return this.messages.splice(0);
  }

  takeDevKitMessages(): readonly DevKitJob[] {
    return this.devKitMessages.splice(0);
  }

  takeResults(): readonly ResultMessage[] {
    return this.results.splice(0);
  }
}

export interface Timer {
  readonly name: string;
  readonly at: Instant;
  readonly job: Job;
}

/** Timers in memory: a test or a simulation takes the due ones. */
export class MemoryTimers implements Timers {
  readonly #clock: Clock;
  readonly #timers = new Map<string, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async set(timer: Timer): Promise<void> {
    if (!this.#timers.has(timer.name)) this.#timers.set(timer.name, frozenCopy(timer));
  }

  pending(): readonly Timer[] {
    return [...this.#timers.values()].toSorted((one, other) => one.at - other.at);
  }

  /** Removes and returns the due timers, the earliest first. Their names are free again. */
  takeDue(): readonly Timer[] {
    const due = this.pending().filter(({ at }) => at <= this.#clock.now());
    for (const { name } of due) this.#timers.delete(name);
    return due;
  }
}

export const memoryMessaging = (clock: Clock) => ({ jobs: new MemoryJobs(clock), timers: new MemoryTimers(clock) });
