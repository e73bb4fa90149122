/** Metrics in memory. */
import type { Metric } from '../engine/log/run-metrics.ts';
import type { Metrics } from '../ports/metrics.ts';

export class MemoryMetrics implements Metrics {
  readonly isOn = true;
  /** in the order of emission */
  readonly measures: Metric[] = [];

  emit(measures: readonly Metric[]): void {
    this.measures.push(...measures);
  }
}
