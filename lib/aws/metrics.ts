/**
 * CloudWatch metrics in the embedded metric format: lines of the function's log, from which CloudWatch extracts metrics
 * (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
 */
import { installationDimension, metricNamespace, runsEnded } from '../contract/metrics.ts';
import { type Metric, type MetricName, metricUnits } from '../engine/log/run-metrics.ts';
import type { Instant } from '../engine/time.ts';
import type { Metrics } from '../ports/system.ts';
import type { Settings } from './environment.ts';

/** The format's limit for the values of one metric in one line. */
const maxValuesPerLine = 100;

export class EmfMetrics implements Metrics {
  readonly isOn = true;
  readonly #write: (line: string) => void;
  readonly #runsTable: string;

  /**
   * @param write receives a complete line; a logger would wrap it in its own format
   * @param runsTable identifies the installation
   */
  constructor(write: (line: string) => void, runsTable: string) {
    this.#write = write;
    this.#runsTable = runsTable;
  }

  emit(measures: readonly Metric[], at: Instant): void {
    for (const { dimensions, values } of grouped(measures.flatMap((one) => withInstallation(one, this.#runsTable)))) {
      const maxCount = Math.max(...[...values.values()].map((each) => each.length));
      for (let first = 0; first < maxCount; first += maxValuesPerLine) {
        const part = [...values].flatMap(([name, all]) => {
          const chunk = all.slice(first, first + maxValuesPerLine);
          return chunk.length === 0 ? [] : [{ name, chunk }];
        });
        this.#write(lineOf(dimensions, part, at));
      }
    }
  }
}

/** Writes to the function's log. */
export const printedMetrics = (runsTable: string): Metrics =>
  new EmfMetrics((line) => void process.stdout.write(`${line}\n`), runsTable);

export const noMetrics: Metrics = { isOn: false, emit: () => undefined };

type Dimensions = Metric['dimensions'];

/** Ends of runs are counted by workflow and for the installation: a dashboard cannot sum over unknown workflow names. */
function withInstallation(measure: Metric, runsTable: string): readonly Metric[] {
  const installation = { [installationDimension]: runsTable };
  if (Object.keys(measure.dimensions).length === 0) return [{ ...measure, dimensions: installation }];
  const { [runsEnded.dimension]: status } = measure.dimensions;
  if (measure.name !== runsEnded.metric || status === undefined) return [measure];
  return [measure, { ...measure, dimensions: { ...installation, [runsEnded.dimension]: status } }];
}

/** Metrics with the same dimensions share a line. */
function grouped(measures: readonly Metric[]) {
  const groups = new Map<string, { readonly dimensions: Dimensions; readonly values: Map<MetricName, number[]> }>();
  for (const { name, value, dimensions } of measures) {
    const key = JSON.stringify(Object.entries(dimensions));
    const group = groups.get(key) ?? { dimensions, values: new Map<MetricName, number[]>() };
    groups.set(key, group);
    group.values.set(name, [...(group.values.get(name) ?? []), value]);
  }
  return groups.values();
}

const lineOf = (
  dimensions: Dimensions,
  part: readonly { readonly name: MetricName; readonly chunk: readonly number[] }[],
  at: Instant,
): string =>
  JSON.stringify({
    _aws: {
      Timestamp: at,
      CloudWatchMetrics: [
        {
          Namespace: metricNamespace,
          Dimensions: [Object.keys(dimensions)],
          Metrics: part.map(({ name }) => ({ Name: name, Unit: metricUnits[name] })),
        },
      ],
    },
    ...dimensions,
    ...Object.fromEntries(part.map(({ name, chunk }) => [name, chunk.length === 1 ? chunk[0] : chunk])),
  });

/** Metrics cost money, so they are a setting of the installation. */
export const metricsOf = (settings: Settings): Metrics => (settings.metrics ? printedMetrics(settings.runsTable) : noMetrics);
