/** docs/METRICS.md names each metric with its unit. */
import { expect, test } from 'vitest';
import { metricNamespace } from '../../lib/contract/metrics.ts';
import { metricUnits } from '../../lib/engine/log/run-metrics.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/METRICS.md');

test('every metric with its unit, and no other; and the namespace', () => {
  const ofMetrics = rowsIn(text).filter(({ section }) => section === 'Metrics');
  const rows = ofMetrics.map(({ cells: [name = '', unit = ''] }) => [quotedIn(name)[0], unit]);
  expect(rows).toEqual(Object.entries(metricUnits));
  expect(text).toContain(`namespace \`${metricNamespace}\``);
});
