/** Counting for whoever watches the installation. At most once: what is lost is lost, and nothing correct depends on it. */
import type { Metric } from '../engine/log/run-metrics.ts';
import type { Instant } from '../engine/time.ts';

export interface Metrics {
  /** Whether anybody counts; where nobody does, nothing need be measured. */
  readonly isOn: boolean;
  emit(measures: readonly Metric[], at: Instant): void;
}
