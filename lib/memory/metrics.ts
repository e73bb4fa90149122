import type { Measure } from '../engine/log/measures.ts';
import type { Metrics } from '../ports/metrics.ts';

export class MemoryMetrics implements Metrics {
  readonly isOn = true;
  /** what was counted, in order */
  readonly measures: Measure[] = [];

  emit(measures: readonly Measure[]): void {
    this.measures.push(...measures);
  }
}
