/** Ids from a seed, metrics and lifecycle events in memory. */
import { MemoryClock } from './clock.ts';
import { encodeTime } from 'ulid';
import { type Nonce, type RunId, nonce, runId } from '../engine/ids.ts';
import type { Metric } from '../engine/log/run-metrics.ts';
import type { RunEvents } from '../engine/run-events.ts';
import type { Instant } from '../engine/time.ts';
import type {
  DeploymentChangeNotice,
  DeploymentNotice,
  Notices,
  RunStatusNotice,
  ScheduleFailureNotice,
} from '../ports/notices.ts';
import type { Ids, Metrics } from '../ports/system.ts';
import { frozenCopy } from './frozen-copy.ts';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** A ULID has 48 bits of time and 80 random bits: 10 and 16 characters of 5 bits. */
const timeLength = 10;
const randomLength = 16;

/** Ids and random numbers from a seed: the same seed gives the same sequence. */
export class MemoryIds implements Ids {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  runId(at: Instant): RunId {
    return runId(`wrun_${encodeTime(at, timeLength)}${this.#letters(randomLength)}`);
  }

  nonce(): Nonce {
    return nonce(this.#letters(randomLength));
  }

  /** mulberry32: 32 bits of state, one step per call. Not for cryptography. */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  #letters(count: number): string {
    let letters = '';
    while (letters.length < count) letters += crockford.charAt(Math.floor(this.random() * crockford.length));
    return letters;
  }
}

/** Metrics in memory. */
export class MemoryMetrics implements Metrics {
  readonly isOn = true;
  /** in the order of emission */
  readonly measures: Metric[] = [];

  emit(measures: readonly Metric[]): void {
    this.measures.push(...measures);
  }
}

/** Notifications in memory, in the order of publication. */
export class MemoryNotices implements Notices {
  runEvents: RunEvents = 'ended';
  readonly statusNotices: RunStatusNotice[] = [];
  readonly activations: DeploymentNotice[] = [];
  readonly deploymentChanges: DeploymentChangeNotice[] = [];
  readonly scheduleFailures: ScheduleFailureNotice[] = [];

  async runStatusChanged(notice: RunStatusNotice): Promise<void> {
    this.statusNotices.push(frozenCopy(notice));
  }

  async deploymentActivated(notice: DeploymentNotice): Promise<void> {
    this.activations.push(frozenCopy(notice));
  }

  async deploymentChanged(notice: DeploymentChangeNotice): Promise<void> {
    this.deploymentChanges.push(frozenCopy(notice));
  }

  async scheduleFailed(notice: ScheduleFailureNotice): Promise<void> {
    this.scheduleFailures.push(frozenCopy(notice));
  }
}

export const memorySystem = (seed: number, startAt: Instant) => ({
  clock: new MemoryClock(startAt),
  ids: new MemoryIds(seed),
  metrics: new MemoryMetrics(),
  notices: new MemoryNotices(),
});
