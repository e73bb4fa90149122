/** Plays months of a run in virtual time: messages, timers, the sweep, and the deletion of everything that has expired. */
import type { RunAddress } from '../../lib/engine/ids.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import { type Instant, instant } from '../../lib/engine/time.ts';
import type { Job } from '../../lib/ports/jobs.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { sweepMinute } from '../../lib/service/execution/sweep-runs.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import type { JobHandler } from '../../lib/service/worker.ts';
import { overrideMethods } from './override-methods.ts';
import { type CrashPoint, CrashableProcesses, survives } from './crashable-processes.ts';
import { type TestEnv, createTestEnv } from './test-env.ts';

type Options = NonNullable<Parameters<typeof createTestEnv>[0]>;

export class LongRun {
  readonly env: TestEnv;
  processes: CrashableProcesses;
  /** messages of this kind are lost */
  lost: Job['kind'] | undefined;
  readonly #dueMinutes = new Set<number>();
  #redelivered: Job[] = [];

  constructor({ wrap = (deps) => deps, ...options }: Options = {}) {
    const recordDue = (deps: Deps): Deps =>
      wrap({
        ...deps,
        index: overrideMethods(deps.index, {
          markDue: (entry) => {
            this.#dueMinutes.add(entry.minute);
            return deps.index.markDue(entry);
          },
        }),
      });
    this.env = createTestEnv({ ...options, wrap: recordDue });
    this.processes = new CrashableProcesses(this.env.deps);
  }

  /** The process of this call crashes, counted from now. */
  crashAt(point: CrashPoint): void {
    this.processes = new CrashableProcesses(this.env.deps, point);
  }

  worker(deps: Deps = this.processes.start()): JobHandler {
    return { ...this.env.worker, deps, foldCache: new FoldCache() };
  }

  /** Plays until this time, or until nothing is left to do. */
  async playUntil(moment: Instant): Promise<void> {
    const { clock, deleteExpired } = this.env.ports;
    for (;;) {
      if (await this.#takeMessages()) continue;
      const next = this.#nextTime();
      if (next > moment) break;
      clock.set(instant(Math.max(next, clock.now())));
      deleteExpired(clock.now());
      await this.#sweep();
    }
    clock.set(moment);
    deleteExpired(clock.now());
  }

  /** Plays until the run has ended, for two years at most. */
  async playToEnd(run: RunAddress): Promise<void> {
    const { clock } = this.env.ports;
    const end = clock.now() + 730 * 86_400_000;
    while (clock.now() < end && !isTerminal((await this.env.fold(run)).state.progress)) {
      const next = this.#nextTime();
      if (!Number.isFinite(next)) return;
      await this.playUntil(instant(Math.max(next, clock.now())));
    }
    // Finalization, and what follows of it.
    await this.playUntil(instant(clock.now() + 3_600_000));
  }

  #nextTime(): number {
    const { jobs, timers, clock } = this.env.ports;
    const hasMessages = jobs.sent.length + jobs.messages.length + this.#redelivered.length > 0;
    return hasMessages
      ? clock.now()
      : Math.min(
          ...jobs.delayed.map(({ dueAt }) => dueAt),
          ...timers.pending().map(({ at }) => at),
          ...[...this.#dueMinutes].map((minute) => (minute + 1) * 60_000),
        );
  }

  async #takeMessages(): Promise<boolean> {
    const { jobs, timers } = this.env.ports;
    const back = this.#redelivered;
    this.#redelivered = [];
    const fresh = [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue(), ...timers.takeDue().map(({ job }) => job)];
    for (const job of back) await this.#take(job, true);
    for (const job of fresh) await this.#take(job, false);
    return back.length + fresh.length > 0;
  }

  async #take(job: Job, isRedelivered: boolean): Promise<void> {
    if (job.kind === this.lost) return;
    if (!(await survives(this.env.take(job, { isRedelivered, worker: this.worker() })))) this.#redelivered.push(job);
  }

  /** Like the product's sweep, which passes a minute only after it has checked each of its runs. */
  async #sweep(): Promise<void> {
    const { clock } = this.env.ports;
    for (const minute of [...this.#dueMinutes].toSorted((one, other) => one - other)) {
      if ((minute + 1) * 60_000 > clock.now()) break;
      while (!(await survives(this.#sweepMinute(minute)))) continue;
      this.#dueMinutes.delete(minute);
    }
  }

  async #sweepMinute(minute: number): Promise<void> {
    const [failed] = (await sweepMinute(this.worker(), minute)).failed;
    if (failed !== undefined) throw failed.error;
  }
}
