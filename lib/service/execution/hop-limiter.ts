/**
 * Counts the hops of chains of messages, and slows chains that make no progress (`engine/hops.ts`). It stands between the use cases
 * and the adapters, so that none of them has to know of it: whoever hands a message over says so once, and what is sent and
 * committed meanwhile is noted here.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Hops, nextHop } from '../../engine/hops.ts';
import type { RunId } from '../../engine/ids.ts';
import { type DurationMs, type Instant, between, durationMs, seconds } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Job, Jobs } from '../../ports/jobs.ts';
import type { PutResult, RunLog } from '../../ports/run-log.ts';
import type { Watches } from '../../ports/watches.ts';

/** A message that is sent later than it was asked for. */
export interface SlowedMessage {
  readonly runId: RunId;
  readonly kind: Job['kind'] | 'watch';
  readonly hops: Hops;
  readonly delay: DurationMs;
}

interface Handling {
  readonly hops: Hops;
  readonly since: Instant;
  hasCommitted: boolean;
}

const noDelay = durationMs(0);
/** The queue of watches takes no delay for single messages, so their sender waits: well within its own time. */
const maxWatchDelay = seconds(20);

export class HopLimiter {
  readonly #clock: Clock;
  readonly #onSlowed: (slowed: SlowedMessage) => void;
  readonly #handling = new AsyncLocalStorage<Handling>();

  /** @param onSlowed is told after the message was sent */
  constructor(clock: Clock, onSlowed: (slowed: SlowedMessage) => void) {
    this.#clock = clock;
    this.#onSlowed = onSlowed;
  }

  /** Does the work that a message asks for. `hops`: what came with the message. */
  handle<Done>(hops: Hops, work: () => Promise<Done>): Promise<Done> {
    return this.#handling.run({ hops, since: this.#clock.now(), hasCommitted: false }, work);
  }

  jobs(jobs: Jobs): Jobs {
    const sendDelayed = async (job: Job, requestedDelay: DurationMs): Promise<void> => {
      const { hops, delay, isSlowed } = this.#next(requestedDelay);
      await jobs.sendDelayed(job, delay, hops);
      if (isSlowed) this.#onSlowed({ runId: job.run.runId, kind: job.kind, hops, delay });
    };
    return {
      send: async (work) => {
        const { hops, isSlowed } = this.#next(noDelay);
        if (!isSlowed) return jobs.send(work, hops);
        // A FIFO queue takes no delay for single messages: they come by way of the delay queue.
        for (const job of work) await sendDelayed(job, noDelay);
      },
      sendDelayed,
      // Collectors send no results: a chain of them goes on with a job, and is slowed there.
      sendResult: (result) => jobs.sendResult(result, this.#next(noDelay).hops),
      // It waited for five visibility timeouts before, so it is a chain of its own.
      sendFire: (fire) => jobs.sendFire(fire),
    };
  }

  watches(watches: Watches): Watches {
    return {
      send: async (watch) => {
        const { hops, delay: requested, isSlowed } = this.#next(noDelay);
        const delay = durationMs(Math.min(requested, maxWatchDelay));
        if (isSlowed) await this.#clock.sleep(delay);
        await watches.send(watch, hops);
        if (isSlowed) this.#onSlowed({ runId: watch.run.runId, kind: 'watch', hops, delay });
      },
    };
  }

  log(log: RunLog): RunLog {
    const recordingProgress = async (isProgress: (result: PutResult) => boolean, put: Promise<PutResult>): Promise<PutResult> => {
      const result = await put;
      const handling = this.#handling.getStore();
      if (handling !== undefined && isProgress(result)) handling.hasCommitted = true;
      return result;
    };
    const overrides: Pick<RunLog, 'create' | 'put'> = {
      // A run that is there already may have been made by an earlier delivery: that is no progress of this one.
      create: (run) => recordingProgress((result) => result.kind === 'stored', log.create(run)),
      // The answer of the put before may have been lost: then this one finds its own nonce.
      put: (run, commit, expiresAt) =>
        recordingProgress((result) => result.kind === 'stored' || result.nonce === commit.nonce, log.put(run, commit, expiresAt)),
    };
    return new Proxy(log, {
      get(target, name) {
        if (name === 'create' || name === 'put') return overrides[name];
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  }

  #next(requestedDelay: DurationMs) {
    const handling = this.#handling.getStore();
    if (handling === undefined) return nextHop(undefined, requestedDelay);
    const { hops, since, hasCommitted } = handling;
    return nextHop({ hops, hasCommitted, duration: between(since, this.#clock.now()) }, requestedDelay);
  }
}
