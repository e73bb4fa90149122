/**
 * CloudWatch dashboards: one for operation and, with the setting `metrics`, one for the cost of runs. Each uses at most 50 metrics,
 * because the first three dashboards of an account are free up to that number (https://aws.amazon.com/cloudwatch/pricing/).
 * CloudFormation generates their names: dashboard names are global in an account, so a fixed name would collide between regions.
 */
import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { runsEnded, runsStarted } from '../contract/metrics.ts';
import { type Graph, type DashboardResources, costs, installationMetric } from './cost-graphs.ts';

export interface DashboardsProps {
  readonly monitored: DashboardResources;
  /** whether the functions emit metrics of runs */
  readonly metrics: boolean;
}

export class Dashboards extends Construct {
  readonly operation: cloudwatch.Dashboard;
  /** undefined without the setting `metrics` */
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

/** Widths in columns: a dashboard has 24. */
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
      '**Stepwell: operation.** Each page of `docs/RUNBOOK.md` names a graph. A deployment of the stack overwrites changes to this dashboard.',
      metrics
        ? 'The functions emit the metrics of runs (setting `metrics`, `docs/METRICS.md`). AWS provides all other metrics.'
        : 'Metrics of runs are off. Deploy with `-c stepwell:metrics=true` to see started and ended runs and the cost of a run.',
    ].join('\n\n'),
  });

const costDescription = new cloudwatch.TextWidget({
  width: fullWidth,
  height: 3,
  markdown: [
    '**Stepwell: estimated cost.** List prices of us-east-1 (`lib/contract/prices.ts`), without free tiers, divided by the runs that ended in the hour.',
    'Included: requests of the REST API and of the start API; requests and time of the functions; read and write units of the tables; three requests for each message. Not included: polls of empty queues, alarms, storage, logs, bus events, schedules, the bucket, WebSockets, models, data transfer.',
  ].join('\n\n'),
});

const period = Duration.minutes(5);
const sum = { period, statistic: 'Sum' };
const maximum = { period, statistic: 'Maximum' };

/** The first-key function runs during a deployment only, and CloudFormation reports its failure. */
const isInOperation = ([name]: readonly [string, unknown]): boolean => name !== 'first-key';

const isShown = ({ metrics }: Graph): boolean => metrics.length > 0;

/** The rows of the dashboard. A graph without metrics is left out, and so is an empty row. */
const operation = (resources: DashboardResources, metrics: boolean): readonly (readonly Graph[])[] =>
  [
    metrics ? runGraphs(resources) : [],
    queueGraphs(resources),
    functionGraphs(resources),
    recoveryGraphs(resources),
    apiGraphs(resources),
  ]
    .map((row) => row.filter(isShown))
    .filter((row) => row.length > 0);

function runGraphs({ storage }: DashboardResources): readonly Graph[] {
  const metric = (name: string, dimensions: Readonly<Record<string, string>>, label: string) =>
    installationMetric(storage.runsTable.tableName, name, dimensions, { ...sum, label });
  const ended = runsEnded.statuses.map((status) => metric(runsEnded.metric, { [runsEnded.dimension]: status }, status));
  return [
    { title: 'Runs started', unit: 'runs', metrics: [metric(runsStarted, {}, 'started')] },
    { title: 'Runs ended', unit: 'runs', metrics: ended, isStacked: true },
  ];
}

function queueGraphs({ queues, traceQueue }: DashboardResources): readonly Graph[] {
  const workQueues = [...queues.all, ...(traceQueue === undefined ? [] : [traceQueue])];
  return [
    {
      title: 'Age of the oldest message',
      unit: 'seconds',
      metrics: workQueues.map((queue) => queue.metricApproximateAgeOfOldestMessage({ ...maximum, label: queue.node.id })),
    },
    {
      title: 'Dead letters',
      unit: 'messages',
      metrics: queues.deadLetters.map((queue) =>
        queue.metricApproximateNumberOfMessagesVisible({ ...maximum, label: queue.node.id }),
      ),
    },
  ];
}

function functionGraphs({ functions }: DashboardResources): readonly Graph[] {
  const operationFunctions = [...functions].filter(isInOperation);
  return [
    {
      title: 'Errors by function',
      unit: 'invocations',
      metrics: operationFunctions.map(([name, { lambda }]) => lambda.metricErrors({ ...sum, label: name })),
    },
    {
      title: 'Throttles by function',
      unit: 'invocations',
      // A dashboard in the free tier has at most 50 metrics. The gateway's 5xx errors show a throttled page.
      metrics: operationFunctions
        .filter(([name]) => name !== 'console')
        .map(([name, { lambda }]) => lambda.metricThrottles({ ...sum, label: name })),
    },
  ];
}

function recoveryGraphs({ storage, functions }: DashboardResources): readonly Graph[] {
  const sweep = functions.get('sweep')?.lambda;
  const sweeps =
    sweep === undefined
      ? []
      : [sweep.metricInvocations({ ...sum, label: 'started' }), sweep.metric('AsyncEventsDropped', { ...sum, label: 'dropped' })];
  // Commits that lost to another writer, and every other failed condition of the Runs table.
  const lostPuts = storage.runsTable.metricConditionalCheckFailedRequests({
    ...sum,
    label: 'failed conditional writes of the Runs table',
  });
  return [
    { title: 'Lost puts', unit: 'writes', metrics: [lostPuts] },
    { title: 'Sweeps', unit: 'sweeps', metrics: sweeps },
  ];
}

/** Without the start API: with it, a dashboard with traces would exceed the 50 metrics that are free. */
function apiGraphs({ restApi }: DashboardResources): readonly Graph[] {
  if (restApi === undefined) return [];
  return [
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
  ];
}
