/** What alarms look at, over five minutes each. undefined: what is measured is not part of this deployment. */
import { Duration } from 'aws-cdk-lib';
import type * as apigateway from 'aws-cdk-lib/aws-apigateway';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { FunctionName } from '../contract/environment.ts';
import type { ProductFunction } from './product-function.ts';
import type { Queues } from './queues.ts';
import type { Storage } from './storage.ts';
import type { Timers } from './timers.ts';

export interface Watched {
  readonly queues: Queues;
  readonly storage: Storage;
  readonly timers: Timers;
  readonly functions: ReadonlyMap<FunctionName, ProductFunction>;
  readonly restApi: apigateway.RestApi | undefined;
}

export type MetricOf = (watched: Watched) => cloudwatch.IMetric | undefined;

const period = Duration.minutes(5);
const most = { period, statistic: 'Maximum' };
const total = { period, statistic: 'Sum' };

export const deadLettersLeft: MetricOf = ({ queues }) =>
  sum(queues.deadLetters.map((queue) => queue.metricApproximateNumberOfMessagesVisible(most)));

/** in seconds */
export const waitIn =
  (queue: 'nodeJobs' | 'results' | 'code' | 'watches'): MetricOf =>
  ({ queues }) =>
    queues[queue].metricApproximateAgeOfOldestMessage(most);

export const errorsOf =
  (name: FunctionName): MetricOf =>
  ({ functions }) =>
    functions.get(name)?.lambda.metricErrors(total);

export const startsOf =
  (name: FunctionName): MetricOf =>
  ({ functions }) =>
    functions.get(name)?.lambda.metricInvocations(total);

/** in milliseconds */
export const slowestOf =
  (name: FunctionName): MetricOf =>
  ({ functions }) =>
    functions.get(name)?.lambda.metricDuration({ period, statistic: 'p99' });

export const serverErrors: MetricOf = ({ restApi }) => restApi?.metricServerError(total);

export const throttlesOf =
  (wanted: (name: FunctionName) => boolean): MetricOf =>
  ({ functions }) =>
    sum([...functions].flatMap(([name, { lambda }]) => (wanted(name) ? [lambda.metricThrottles(total)] : [])));

export const tableThrottles: MetricOf = ({ storage }) =>
  sum(
    [storage.runsTable, storage.controlTable].flatMap((table) =>
      ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) => table.metric(name, total)),
    ),
  );

export const timersDropped: MetricOf = ({ timers }) => timers.group.metricDropped(total);

/** A metric without data counts as zero, so that it does not hide the others. */
function sum(metrics: readonly cloudwatch.IMetric[]): cloudwatch.IMetric | undefined {
  if (metrics.length === 0) return undefined;
  const named = metrics.map((metric, index) => [`m${index}`, metric] as const);
  const expression = named.map(([name]) => `FILL(${name}, 0)`).join(' + ');
  return new cloudwatch.MathExpression({ expression, usingMetrics: Object.fromEntries(named), period });
}
