/**
 * What the installation does, as graphs of CloudWatch: one dashboard for operation, and, where runs are counted, one for what they
 * cost. Each looks at 50 metrics at most, because the first three dashboards of an account are free up to that number
 * (https://aws.amazon.com/cloudwatch/pricing/). Neither has a name of its own: names of dashboards are global in an account, so that the
 * same name in two regions would be one dashboard.
 */
import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { runsEnded, runsStarted } from '../contract/metrics.ts';
import { type Graph, type DashboardResources, costs, installationMetric } from './cost-graphs.ts';

export interface DashboardsProps {
  readonly monitored: DashboardResources;
  /** whether runs are counted */
  readonly metrics: boolean;
}

export class Dashboards extends Construct {
  readonly operation: cloudwatch.Dashboard;
  /** undefined: runs are not counted */
  readonly cost: cloudwatch.Dashboard | undefined;

  constructor(scope: Construct, id: string, { monitored, metrics }: DashboardsProps) {
    super(scope, id);
    this.operation = new cloudwatch.Dashboard(this, 'Operation', {
      defaultInterval: Duration.hours(3),
      widgets: [[operationDescription(metrics)], ...operation(monitored, metrics).map((row) => row.map(graph))],
    });
    if (!metrics) return;
    this.cost = new cloudwatch.Dashboard(this, 'Cost', {
      defaultInterval: Duration.days(7),
      widgets: [[costDescription], costs(monitored).map(graph)],
    });
  }
}

/** Of the 24 columns of a dashboard. */
const halfWidth = 12;
const fullWidth = 24;

const graph = ({ title, unit, metrics, isStacked }: Graph): cloudwatch.IWidget =>
  new cloudwatch.GraphWidget({
    title,
    left: [...metrics],
    leftYAxis: { label: unit, showUnits: false, min: 0 },
    stacked: isStacked ?? false,
    width: halfWidth,
    height: 6,
  });

const operationDescription = (metrics: boolean): cloudwatch.IWidget =>
  new cloudwatch.TextWidget({
    width: fullWidth,
    height: 3,
    markdown: [
      '**Stepwell: operation.** Each page of `docs/RUNBOOK.md` names the graph to look at. This dashboard is a part of the stack: a deployment writes it again.',
      metrics
        ? 'Runs are counted by the functions (setting `metrics`, `docs/METRICS.md`). Everything else AWS counts by itself.'
        : 'Runs are not counted: deploy with `-c stepwell:metrics=true` to see how many start and end, and what a run costs.',
    ].join('\n\n'),
  });

const costDescription = new cloudwatch.TextWidget({
  width: fullWidth,
  height: 3,
  markdown: [
    '**Stepwell: estimated cost.** List prices of us-east-1 (`lib/contract/prices.ts`), without free tiers, divided by the runs that ended in the hour.',
    'Contained: requests of the REST API; requests and time of the functions; read and write units of the tables; three requests for each message. Not contained: polls of empty queues, alarms, storage, logs, bus events, schedules, the bucket, WebSockets, models, data transfer.',
  ].join('\n\n'),
});

const period = Duration.minutes(5);
const sum = { period, statistic: 'Sum' };
const maximum = { period, statistic: 'Maximum' };

/** It runs while the product is deployed, and CloudFormation tells of it. */
const isInOperation = ([name]: readonly [string, unknown]): boolean => name !== 'first-key';

function operation(
  { queues, storage, functions, restApi, traceQueue }: DashboardResources,
  metrics: boolean,
): readonly (readonly Graph[])[] {
  const operationFunctions = [...functions].filter(isInOperation);
  const perQueue = <Queue>(
    all: readonly Queue[],
    metricOfQueue: (queue: Queue) => cloudwatch.IMetric,
  ): readonly cloudwatch.IMetric[] => all.map(metricOfQueue);
  const sweep = functions.get('sweep')?.lambda;
  const rows: readonly (readonly Graph[])[] = [
    metrics
      ? [
          { title: 'Runs started', unit: 'runs', metrics: [metricOfInstallation(runsStarted, {}, { ...sum, label: 'started' })] },
          { title: 'Runs ended', unit: 'runs', metrics: endedByStatus({ ...sum }), isStacked: true },
        ]
      : [],
    [
      {
        title: 'Age of the oldest message',
        unit: 'seconds',
        metrics: perQueue([...queues.all, ...(traceQueue === undefined ? [] : [traceQueue])], (queue) =>
          queue.metricApproximateAgeOfOldestMessage({ ...maximum, label: queue.node.id }),
        ),
      },
      {
        title: 'Dead letters',
        unit: 'messages',
        metrics: perQueue(queues.deadLetters, (queue) =>
          queue.metricApproximateNumberOfMessagesVisible({ ...maximum, label: queue.node.id }),
        ),
      },
    ],
    [
      {
        title: 'Errors by function',
        unit: 'invocations',
        metrics: operationFunctions.map(([name, { lambda }]) => lambda.metricErrors({ ...sum, label: name })),
      },
      {
        title: 'Throttles by function',
        unit: 'invocations',
        metrics: operationFunctions.map(([name, { lambda }]) => lambda.metricThrottles({ ...sum, label: name })),
      },
    ],
    [
      {
        title: 'Lost puts',
        unit: 'writes',
        // A commit that another writer was faster with, and every other condition of the table of runs that did not hold.
        metrics: [
          storage.runsTable.metricConditionalCheckFailedRequests({ ...sum, label: 'conditions of the Runs table that failed' }),
        ],
      },
      {
        title: 'Sweeps',
        unit: 'sweeps',
        metrics:
          sweep === undefined
            ? []
            : [
                sweep.metricInvocations({ ...sum, label: 'started' }),
                sweep.metric('AsyncEventsDropped', { ...sum, label: 'dropped' }),
              ],
      },
    ],
    restApi === undefined
      ? []
      : [
          {
            title: 'API requests',
            unit: 'requests',
            metrics: [
              restApi.metricCount({ ...sum, label: 'all' }),
              restApi.metricClientError({ ...sum, label: '4xx' }),
              restApi.metricServerError({ ...sum, label: '5xx' }),
            ],
          },
          {
            title: 'API latency',
            unit: 'milliseconds, open streams included',
            metrics: ['p50', 'p99'].map((statistic) => restApi.metricLatency({ period, statistic, label: statistic })),
          },
        ],
  ];
  return rows.map((row) => row.filter((one) => one.metrics.length > 0)).filter((row) => row.length > 0);

  function endedByStatus(options: cloudwatch.MetricOptions): readonly cloudwatch.Metric[] {
    return runsEnded.statuses.map((status) =>
      metricOfInstallation(runsEnded.metric, { [runsEnded.dimension]: status }, { ...options, label: status }),
    );
  }

  function metricOfInstallation(
    metricName: string,
    dimensions: Readonly<Record<string, string>>,
    options: cloudwatch.MetricOptions,
  ) {
    return installationMetric(storage.runsTable.tableName, metricName, dimensions, options);
  }
}
