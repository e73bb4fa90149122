/** Metrics of an installation. Delivery is at most once, and no decision depends on them. */
import type { Metric } from '../engine/log/run-metrics.ts';
import type { Instant } from '../engine/time.ts';

export interface Metrics {
  /** False if metrics are off; callers then skip the measurement. */
  readonly isOn: boolean;
  emit(measures: readonly Metric[], at: Instant): void;
}
