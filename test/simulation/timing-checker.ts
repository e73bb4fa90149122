/** Checks that no delay, wait, pause, retry or run ends before its time, within the error of the clocks. */
import { type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { runInvariant } from './violation.ts';

/** As wrong as clocks are (process.ts). */
const wrongClockMs = 90_000;
/** A timer is at most one minute late; then its message is in a queue. */
const mostLateMs = 300_000;

export class TimingChecker {
  readonly #trustMs: number;
  readonly #isCalm: () => boolean;
  /** by node: not over before */
  readonly #until = new Map<string, number>();
  /** nodes that ended otherwise than by their time */
  readonly #called = new Set<string>();
  readonly #timedOut: { readonly run: RunAddress; readonly at: number }[] = [];
  readonly #notBefore = new Map<string, number>();

  /** @param isCalm nothing has gone wrong so far, nor been made to */
  constructor(areClocksRight: boolean, isCalm: () => boolean) {
    this.#trustMs = areClocksRight ? 0 : wrongClockMs;
    this.#isCalm = isCalm;
  }

  committed(run: RunAddress, { events }: Commit, now: number): void {
    const { runId } = run;
    for (const event of events) {
      // Code that asks for a sleep which its deadline leaves no time for is over at once.
      const isForesight = event.type === 'RUN_TIMED_OUT' && event.error.message.startsWith('the sleep ');
      if (event.type === 'RUN_TIMED_OUT' && !isForesight) this.#timedOut.push({ run, at: now });
      if (!('nodeId' in event)) continue;
      const node = `${runId}/${nodeKey(event)}`;
      switch (event.type) {
        case 'SLEEP_STARTED':
          this.#begins(node, event.wakeAt);
          break;
        case 'SIGNAL_AWAITED':
          this.#begins(node, event.expiresAt ?? Infinity);
          break;
        case 'LOOP_PAUSED':
          this.#begins(node, event.wakeAt);
          break;
        case 'NODE_WOKEN':
          // Its backoff was ended early.
          if (this.#notBefore.delete(`${node}#${event.attempt}`)) break;
          this.#called.add(node);
          this.#late(node, now);
          break;
        case 'SIGNAL_RECEIVED':
          this.#called.add(node);
          this.#late(node, now);
          break;
        case 'ITERATION_STARTED':
          this.#over(node, now);
          break;
        case 'NODE_COMPLETED':
          this.#over(node, now);
          break;
        case 'NODE_FAILED':
          if (event.failure.code === 'signal_expired') this.#over(node, now);
          this.#until.delete(node);
          break;
        case 'NODE_RETRIED':
          this.#notBefore.set(`${node}#${event.attempt + 1}`, event.retryAt);
          break;
        default:
          break;
      }
    }
  }

  /** An attempt has begun. */
  begins(name: string, now: number): void {
    const notBefore = this.#notBefore.get(name) ?? 0;
    runInvariant(12, now >= notBefore - this.#trustMs, `${name} was executed ${notBefore - now} ms before its time`);
  }

  /** @param deadlineOf of a run */
  async check(deadlineOf: (run: RunAddress) => Promise<number | undefined>): Promise<void> {
    for (const { run, at } of this.#timedOut) {
      const early = ((await deadlineOf(run)) ?? 0) - at;
      runInvariant(2, early <= this.#trustMs, `${run.runId} was ended ${early} ms before its deadline`);
    }
  }

  /** Without faults, a wait ends soon after its time. */
  #late(node: string, now: number): void {
    const until = this.#until.get(node) ?? Infinity;
    runInvariant(5, !this.#isCalm() || now <= until + mostLateMs, `${node} ended ${now - until} ms after its time`);
  }

  #begins(node: string, until: number): void {
    this.#called.delete(node);
    this.#until.set(node, until);
  }

  #over(node: string, now: number): void {
    const until = this.#until.get(node);
    if (until === undefined) return;
    this.#late(node, now);
    this.#until.delete(node);
    if (this.#called.has(node)) return;
    runInvariant(5, now >= until - this.#trustMs, `${node} ended ${until - now} ms before its time`);
  }
}
