/**
 * The metrics of the alarms, over five minutes. Each returned metric gets its own alarm, because one alarm can sum at most ten
 * metrics. An empty list means that the measured resource is not deployed.
 */
import { Duration } from 'aws-cdk-lib';
import type * as apigateway from 'aws-cdk-lib/aws-apigateway';
import type * as apigatewayv2 from 'aws-cdk-lib/aws-apigatewayv2';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import type { FunctionName } from '../contract/environment.ts';
import { metricNamespace, slowedMessages } from '../contract/metrics.ts';
import type { Queues } from './queues.ts';
import type { Storage } from './storage.ts';
import type { Timers } from './timers.ts';

export interface MonitoredResources {
  readonly queues: Queues;
  readonly storage: Storage;
  readonly timers: Timers;
  readonly functions: ReadonlyMap<string, { readonly lambda: lambda.IFunction; readonly allowsLoops?: boolean }>;
  readonly restApi: apigateway.RestApi | undefined;
  /** undefined: the setting turns it off */
  readonly startApi?: apigatewayv2.HttpApi | undefined;
  /** undefined: the traces function is not deployed */
  readonly traceQueue?: sqs.IQueue | undefined;
}

export interface MonitoredTrigger {
  /** the function of all triggers */
  readonly starts: lambda.IFunction;
  readonly queue: sqs.IQueue;
  readonly deadLetters: sqs.IQueue;
}

export const triggerErrors = ({ starts }: MonitoredTrigger): cloudwatch.IMetric => starts.metricErrors(total);

export const triggerDeadLetterCount = ({ deadLetters }: MonitoredTrigger): cloudwatch.IMetric =>
  deadLetters.metricApproximateNumberOfMessagesVisible(maximum);

/** in seconds */
export const triggerMessageAge = ({ queue }: MonitoredTrigger): cloudwatch.IMetric =>
  queue.metricApproximateAgeOfOldestMessage(maximum);

export type MetricsOf = (monitored: MonitoredResources) => readonly cloudwatch.IMetric[];

/** CloudWatch's limit for an alarm on a metric math expression. */
const maxMetricsPerAlarm = 10;

const period = Duration.minutes(5);
const maximum = { period, statistic: 'Maximum' };
const total = { period, statistic: 'Sum' };

export const deadLetterCount: MetricsOf = ({ queues }) =>
  sums(queues.deadLetters.map((queue) => queue.metricApproximateNumberOfMessagesVisible(maximum)));

/** in seconds */
export const messageAgeIn =
  (queue: 'nodeJobs' | 'delayed' | 'results' | 'code' | 'watches'): MetricsOf =>
  ({ queues }) => [queues[queue].metricApproximateAgeOfOldestMessage(maximum)];

/** in seconds */
export const traceMessageAge: MetricsOf = ({ traceQueue }) =>
  optionalMetric(traceQueue?.metricApproximateAgeOfOldestMessage(maximum));

/** Errors of one function, or the sum of several. */
export const errorsOf =
  (...names: readonly FunctionName[]): MetricsOf =>
  ({ functions }) => {
    const metrics = names.flatMap((name) => optionalMetric(functions.get(name)?.lambda.metricErrors(total)));
    return metrics.length > 1 ? sums(metrics) : metrics;
  };

export const invocationsOf =
  (name: FunctionName): MetricsOf =>
  ({ functions }) =>
    optionalMetric(functions.get(name)?.lambda.metricInvocations(total));

/** Asynchronous events that Lambda dropped: too old, or out of retries. */
export const droppedEventsOf =
  (name: FunctionName): MetricsOf =>
  ({ functions }) =>
    optionalMetric(functions.get(name)?.lambda.metric('AsyncEventsDropped', total));

/** in milliseconds */
export const p99DurationOf =
  (name: FunctionName): MetricsOf =>
  ({ functions }) =>
    optionalMetric(functions.get(name)?.lambda.metricDuration({ period, statistic: 'p99' }));

export const serverErrors: MetricsOf = ({ restApi, startApi }) => [
  ...optionalMetric(restApi?.metricServerError(total)),
  ...optionalMetric(startApi?.metricServerError(total)),
];

export const throttlesOf =
  (isIncluded: (name: string) => boolean): MetricsOf =>
  ({ functions }) =>
    sums([...functions].flatMap(([name, { lambda }]) => (isIncluded(name) ? [lambda.metricThrottles(total)] : [])));

/** Covers the functions that allow recursive loops. Lambda reports the metric only for functions whose recursive loops it ends. */
export const recursiveInvocationsDropped: MetricsOf = ({ functions }) =>
  sums(
    [...functions.values()].flatMap(({ lambda, allowsLoops }) =>
      allowsLoops === true ? [lambda.metric('RecursiveInvocationsDropped', total)] : [],
    ),
  );

/** The functions emit this metric of the installation even with the setting `metrics` off. */
export const slowedMessageCount: MetricsOf = ({ storage }) => [
  new cloudwatch.Metric({
    namespace: metricNamespace,
    metricName: slowedMessages.metric,
    dimensionsMap: { [slowedMessages.dimension]: storage.runsTable.tableName },
    ...total,
  }),
];

export const tableThrottles: MetricsOf = ({ storage }) =>
  sums(
    [storage.runsTable, storage.controlTable].flatMap((table) =>
      ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) => table.metric(name, total)),
    ),
  );

export const timersDropped: MetricsOf = ({ timers }) => [timers.group.metricDropped(total)];

const optionalMetric = (metric: cloudwatch.IMetric | undefined): readonly cloudwatch.IMetric[] =>
  metric === undefined ? [] : [metric];

/** Sums of up to ten metrics. The alarm's threshold applies to each sum. */
function sums(metrics: readonly cloudwatch.IMetric[]): readonly cloudwatch.IMetric[] {
  const parts = Array.from({ length: Math.ceil(metrics.length / maxMetricsPerAlarm) }, (_, part) =>
    metrics.slice(part * maxMetricsPerAlarm, (part + 1) * maxMetricsPerAlarm),
  );
  return parts.map(sum);
}

/** A metric without data counts as zero; otherwise it would make the whole sum undefined. */
function sum(metrics: readonly cloudwatch.IMetric[]): cloudwatch.IMetric {
  const metricById = metrics.map((metric, index) => [`m${index}`, metric] as const);
  const expression = metricById.map(([name]) => `FILL(${name}, 0)`).join(' + ');
  return new cloudwatch.MathExpression({ expression, usingMetrics: Object.fromEntries(metricById), period });
}
