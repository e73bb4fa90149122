/**
 * Starts several runs in one request. Each start has its own key and its own outcome. Ten at a time write their heads side by side. They
 * share one due entry, and their first jobs share one request of a queue. Those of graphs share one message.
 */
import { replacing } from '../../base/lazy.ts';
import type { Jobs, WorkJob } from '../../ports/jobs.ts';
import { maxSharedDueRuns } from '../../ports/run-index.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Decider } from '../decider.ts';
import { type Arrival, createArrivals } from './arrivals.ts';
import { SharedMark } from './shared-mark.ts';
import { type StartRequest, type StartResult, startRun } from './start-run.ts';

/** SQS takes ten messages in a request too. */
const groupSize = maxSharedDueRuns;

/** A start as the caller asks for it. */
export type BatchStart = Omit<StartRequest, 'alongside' | 'marksDue'>;

/** `unavailable`: a store or a queue refused a call, and the same request may succeed later. */
export type BatchOutcome = StartResult | { readonly kind: 'unavailable' };

/**
 * A start that fails does not stop the others. If the process dies, a repeated request finds the runs that exist by their keys, and the
 * sweep sends the jobs that were not sent.
 * @returns the outcomes, in the order of the requests
 */
export async function startBatch(decider: Decider, requests: readonly BatchStart[]): Promise<readonly BatchOutcome[]> {
  const outcomes: BatchOutcome[] = [];
  for (let first = 0; first < requests.length; first += groupSize)
    outcomes.push(...(await startGroup(decider, requests.slice(first, first + groupSize))));
  return outcomes;
}

async function startGroup(decider: Decider, requests: readonly BatchStart[]): Promise<readonly BatchOutcome[]> {
  const shared = new SharedSend(decider.deps.jobs, requests.length);
  const sharedMark = new SharedMark(decider.deps, requests.length);
  const started = requests.map(async (request): Promise<BatchOutcome> => {
    const member = shared.join();
    const { marksDue, leave } = sharedMark.join();
    try {
      let sending: Promise<void> | undefined;
      const alongside = (work: Promise<void>): void => void (sending = work);
      const deps = replacing(decider.deps, { jobs: member.jobs });
      const result = await startRun({ ...decider, deps }, { ...request, marksDue, alongside });
      await sending;
      return result;
    } catch (error) {
      if (error instanceof Unavailable) return { kind: 'unavailable' };
      throw error;
    } finally {
      member.leave();
      leave();
    }
  });
  // All are awaited although one throws: a start that is under way must not outlive the request.
  const settled = await Promise.allSettled(started);
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

interface Member {
  readonly jobs: Jobs;
  /** The start has ended, and sends nothing more. */
  readonly leave: () => void;
}

/** Sends the first jobs of several starts together, as soon as each start has given its jobs or has ended without any. */
class SharedSend {
  readonly #jobs: Jobs;
  readonly #gathered: WorkJob[] = [];
  readonly #sent = Promise.withResolvers<void>();
  readonly #nextArrival: () => Arrival;

  /** @param count how many starts join */
  constructor(jobs: Jobs, count: number) {
    this.#jobs = jobs;
    this.#nextArrival = createArrivals(count, () => this.#sendAll());
    // A start that has ended awaits it no longer.
    this.#sent.promise.catch(() => undefined);
  }

  join(): Member {
    const { isAwaited, arrive } = this.#nextArrival();
    const send: Jobs['send'] = async (jobs, hops) => {
      // What follows from the first jobs is no first job.
      if (!isAwaited() || hops !== undefined) return this.#jobs.send(jobs, hops);
      this.#gathered.push(...jobs);
      arrive();
      return this.#sent.promise;
    };
    return { jobs: { ...bound(this.#jobs), send }, leave: arrive };
  }

  #sendAll(): void {
    const sending = this.#gathered.length === 0 ? Promise.resolve() : this.#jobs.sendTogether(this.#gathered);
    sending.then(this.#sent.resolve, this.#sent.reject);
  }
}

const bound = (jobs: Jobs): Omit<Jobs, 'send'> => ({
  sendTogether: (...sent) => jobs.sendTogether(...sent),
  sendDelayed: (...sent) => jobs.sendDelayed(...sent),
  sendResult: (...sent) => jobs.sendResult(...sent),
  sendFire: (...sent) => jobs.sendFire(...sent),
});
