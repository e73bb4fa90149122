/** The ports that every use case needs: time, ids, metrics and lifecycle events. */
import type { Clock } from './clock.ts';
import type { Notices } from './notices.ts';
import type { Nonce, RunId } from '../engine/ids.ts';
import type { Metric } from '../engine/log/run-metrics.ts';
import type { Instant } from '../engine/time.ts';

/** Ids and random numbers. Tests and the simulator draw them from a seed. */
export interface Ids {
  runId(at: Instant): RunId;
  nonce(): Nonce;
  /** a number in [0, 1) */
  random(): number;
}

/** Metrics of an installation. Delivery is at most once, and no decision depends on them. */
export interface Metrics {
  /** False if metrics are off; callers then skip the measurement. */
  readonly isOn: boolean;
  emit(measures: readonly Metric[], at: Instant): void;
}

export interface SystemPorts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: Metrics;
  readonly notices: Notices;
}
