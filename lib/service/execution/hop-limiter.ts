/**
 * Counts the hops of message chains, and delays chains that make no progress (`engine/hops.ts`). It wraps the ports, so that neither
 * the use cases nor the adapters depend on it. A handler calls `handle` once per message; the wrapped ports then record what is sent
 * and committed during it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Hops, nextHop } from '../../engine/hops.ts';
import type { RunId } from '../../engine/ids.ts';
import { type DurationMs, type Instant, between, durationMs, seconds } from '../../engine/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Job, Jobs } from '../../ports/jobs.ts';
import type { PutResult, RunLog } from '../../ports/run-log.ts';
import type { Watches } from '../../ports/sockets.ts';

/** A message that was delayed longer than its sender requested. */
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
/** The watch queue has no per-message delay, so the sender waits. This is well within an invocation's time. */
const maxWatchDelay = seconds(20);

export class HopLimiter {
  readonly #clock: Clock;
  readonly #onSlowed: (slowed: SlowedMessage) => void;
  readonly #handling = new AsyncLocalStorage<Handling>();

  /** @param onSlowed called after the message was sent */
  constructor(clock: Clock, onSlowed: (slowed: SlowedMessage) => void) {
    this.#clock = clock;
    this.#onSlowed = onSlowed;
  }

  /** Processes a message. @param hops the hop counts that the message carries */
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
        // A FIFO queue has no per-message delay, so the jobs go through the delay queue.
        for (const job of work) await sendDelayed(job, noDelay);
      },
      sendTogether: async (work) => {
        const { hops, isSlowed } = this.#next(noDelay);
        if (!isSlowed) return jobs.sendTogether(work, hops);
        for (const job of work) await sendDelayed(job, noDelay);
      },
      sendDelayed,
      // A collector sends no results. A chain through it continues with a job, and is delayed there.
      sendResult: (result) => jobs.sendResult(result, this.#next(noDelay).hops),
      // It waited for five visibility timeouts before, so it starts a new chain.
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
      // An earlier delivery may have created an existing run, so that is no progress of this delivery.
      create: (run, ended) => recordingProgress((result) => result.kind === 'stored', log.create(run, ended)),
      // If the response of an earlier put was lost, this put is refused with its own nonce.
      put: (run, commit, expiresAt, ended) =>
        recordingProgress(
          (result) => result.kind === 'stored' || result.nonce === commit.nonce,
          log.put(run, commit, expiresAt, ended),
        ),
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
