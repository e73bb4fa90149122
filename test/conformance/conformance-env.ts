/** A test environment for topologies: the ports, a manual clock, and the content of the queues. */
import type { Instant } from '../../lib/engine/time.ts';
import { type DurationMs } from '../../lib/engine/time.ts';
import type { MemoryClock } from '../../lib/memory/clock.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Job, ResultMessage } from '../../lib/ports/jobs.ts';
import type { Ports } from '../../lib/ports/ports.ts';

export interface ConformanceEnv {
  readonly ports: Ports;
  readonly clock: MemoryClock;
  /** takes the available jobs in the order of sending */
  takeJobs(): Promise<readonly Job[]>;
  takeResults(): Promise<readonly ResultMessage[]>;
  /** takes due delayed jobs and timers */
  takeDue(): Promise<readonly Job[]>;
  nextDue(): Instant | undefined;
}

/**
 * A sleeping worker advances the manual clock. A worker that monitors an attempt sleeps with an abort signal instead, and the
 * duration of the attempt wakes it.
 */
export class AdvancingClock implements Clock {
  readonly #clock: MemoryClock;

  constructor(clock: MemoryClock) {
    this.#clock = clock;
  }

  now(): Instant {
    return this.#clock.now();
  }

  async sleep(wait: DurationMs, signal?: AbortSignal): Promise<void> {
    if (signal !== undefined) return this.#clock.sleep(wait, signal);
    this.#clock.advance(wait);
  }
}

export const createMemoryEnv = async (): Promise<ConformanceEnv> => {
  const ports = memoryPorts({ seed: 5 });
  const { jobs, timers, clock } = ports;
  return {
    ports: { ...ports, clock: new AdvancingClock(clock) },
    clock,
    takeJobs: async () => jobs.takeSent(),
    takeResults: async () => jobs.takeResults(),
    takeDue: async () => [...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)],
    nextDue: () => {
      const [timer] = timers.pending();
      return jobs.delayed.reduce<Instant | undefined>(
        (next, { dueAt }) => (next === undefined || dueAt < next ? dueAt : next),
        timer?.at,
      );
    },
  };
};
