/** Graphs of the estimated cost of runs, from usage metrics and list prices. */
import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { runsTableKeys } from '../contract/environment.ts';
import { installationDimension, metricNamespace, runsEnded } from '../contract/metrics.ts';
import { dollarsPerMillion } from '../contract/prices.ts';
import type { MonitoredResources } from './alarm-metrics.ts';
import type { ProductFunction } from './product-function.ts';

/** The resources of the installation that the graphs measure. */
export interface DashboardResources extends Omit<MonitoredResources, 'functions'> {
  readonly functions: ReadonlyMap<string, Pick<ProductFunction, 'lambda' | 'memoryMb'>>;
}

export interface Graph {
  /** docs/RUNBOOK.md refers to graphs by title */
  readonly title: string;
  readonly unit: string;
  readonly metrics: readonly cloudwatch.IMetric[];
  readonly isStacked?: boolean;
}

/** A metric that the functions emit for the whole installation. */
export const installationMetric = (
  runsTable: string,
  metricName: string,
  dimensions: Readonly<Record<string, string>>,
  options: cloudwatch.MetricOptions,
): cloudwatch.Metric =>
  new cloudwatch.Metric({
    namespace: metricNamespace,
    metricName,
    dimensionsMap: { [installationDimension]: runsTable, ...dimensions },
    ...options,
  });

const hourly = { period: Duration.hours(1), statistic: 'Sum' };

/** Terms of a sum in dollars: a metric and its unit price. */
type PricedMetrics = readonly (readonly [metric: cloudwatch.IMetric, dollars: number])[];

export function costs({ queues, storage, functions, restApi, startApi }: DashboardResources): readonly Graph[] {
  const { tableName } = storage.runsTable;
  const indexes = [runsTableKeys.byProject, runsTableKeys.byState];
  const indexWrites = indexes.map(
    ({ name }) =>
      new cloudwatch.Metric({
        namespace: 'AWS/DynamoDB',
        metricName: 'ConsumedWriteCapacityUnits',
        dimensionsMap: { TableName: tableName, GlobalSecondaryIndexName: name },
        ...hourly,
      }),
  );
  const tables = [storage.runsTable, storage.controlTable];
  const parts: readonly (readonly [string, PricedMetrics])[] = [
    [
      'API',
      [
        ...(restApi === undefined ? [] : [[restApi.metricCount(hourly), priceOf('apiRequests')] as const]),
        ...(startApi === undefined
          ? []
          : [[startApi.metricCount({ ...hourly, statistic: 'SampleCount' }), priceOf('startApiRequests')] as const]),
      ],
    ],
    [
      'functions',
      [...functions.values()].flatMap(({ lambda, memoryMb }): PricedMetrics => [
        // The metric is in milliseconds.
        [lambda.metricDuration(hourly), ((memoryMb / 1_024) * priceOf('gbSeconds')) / 1_000],
        // The sample count of the duration is the number of invocations. It needs no further metric.
        [lambda.metricDuration({ ...hourly, statistic: 'SampleCount' }), priceOf('invocations')],
      ]),
    ],
    [
      'tables',
      [
        ...tables.map((table) => [table.metricConsumedWriteCapacityUnits(hourly), priceOf('writeUnits')] as const),
        ...indexWrites.map((metric) => [metric, priceOf('writeUnits')] as const),
        ...tables.map((table) => [table.metricConsumedReadCapacityUnits(hourly), priceOf('readUnits')] as const),
      ],
    ],
    // Three requests for each message: send, receive, delete.
    ['queues', queues.all.map((queue) => [queue.metricNumberOfMessagesSent(hourly), 3 * priceOf('queueRequests')] as const)],
  ];
  const dollars = parts.flatMap(([label, priced]) => (priced.length === 0 ? [] : [sumOf(label, priced)]));
  const ended = runsEnded.statuses.map((status) =>
    installationMetric(tableName, runsEnded.metric, { [runsEnded.dimension]: status }, hourly),
  );
  return [
    { title: 'Estimated cost', unit: 'dollars an hour', metrics: dollars, isStacked: true },
    { title: 'Estimated cost per run', unit: 'dollars a run', metrics: [perRun(dollars, ended)] },
  ];
}

const priceOf = (kind: keyof typeof dollarsPerMillion): number => dollarsPerMillion[kind] / 1_000_000;

/** Without an exponent, which CloudWatch's expression syntax does not support. */
const decimal = (dollars: number): string => dollars.toFixed(12).replace(/0+$/, '');

/** Metric names are global in a graph, so each part prefixes its names with its first letter. A metric without data counts as zero. */
function sumOf(label: string, priced: PricedMetrics): cloudwatch.MathExpression {
  const termById = priced.map(([metric, dollars], index) => ({
    name: `${label.slice(0, 1).toLowerCase()}${index}`,
    metric,
    dollars,
  }));
  return new cloudwatch.MathExpression({
    label,
    expression: termById.map(({ name, dollars }) => `FILL(${name},0)*${decimal(dollars)}`).join('+'),
    usingMetrics: Object.fromEntries(termById.map(({ name, metric }) => [name, metric])),
    period: hourly.period,
  });
}

/** No value for an hour in which no run ended. */
function perRun(dollars: readonly cloudwatch.IMetric[], ended: readonly cloudwatch.IMetric[]): cloudwatch.MathExpression {
  const parts = dollars.map((metric, index) => [`d${index}`, metric] as const);
  const runs = ended.map((metric, index) => [`r${index}`, metric] as const);
  const all = runs.map(([name]) => `FILL(${name},0)`).join('+');
  return new cloudwatch.MathExpression({
    label: 'dollars a run',
    expression: `IF(${all}>0,(${parts.map(([name]) => name).join('+')})/(${all}))`,
    usingMetrics: Object.fromEntries([...parts, ...runs]),
    period: hourly.period,
  });
}
