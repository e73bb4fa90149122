/** Every graph uses existing metrics: those that AWS documents for resources of this template, and those that the functions emit. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { EmfMetrics } from '../../lib/aws/metrics.ts';
import { metricUnits } from '../../lib/engine/log/run-metrics.ts';
import { instant } from '../../lib/engine/time.ts';
import { written } from './statements.ts';
import { type Resource, ofType, synthesize, withTraces } from './synthesized.ts';

/** Metrics and dimensions from the AWS documentation. */
const documented: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
  'AWS/Lambda': Object.fromEntries(
    ['Errors', 'Throttles', 'Invocations', 'Duration', 'AsyncEventsDropped'].map((name) => [name, ['FunctionName']]),
  ),
  // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
  'AWS/SQS': Object.fromEntries(
    ['ApproximateAgeOfOldestMessage', 'ApproximateNumberOfMessagesVisible', 'NumberOfMessagesSent'].map((name) => [
      name,
      ['QueueName'],
    ]),
  ),
  // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
  'AWS/DynamoDB': {
    ConditionalCheckFailedRequests: ['TableName'],
    ConsumedReadCapacityUnits: ['TableName'],
    ConsumedWriteCapacityUnits: ['TableName', 'GlobalSecondaryIndexName'],
  },
  // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
  // Of an HTTP API: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
  'AWS/ApiGateway': {
    ...Object.fromEntries(['4XXError', '5XXError', 'Latency'].map((name) => [name, ['ApiName']])),
    Count: ['ApiName', 'ApiId'],
  },
};

interface Shown {
  readonly graph: string;
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
}

const widgetShape = z.looseObject({
  type: z.enum(['metric', 'text']),
  properties: z.looseObject({
    title: z.string().exactOptional(),
    markdown: z.string().exactOptional(),
    metrics: z.array(z.array(z.unknown())).default([]),
    region: z.string().exactOptional(),
  }),
});
const bodyShape = z.object({ widgets: z.array(widgetShape) });
type Widget = z.output<typeof widgetShape>;

/** A dashboard body is JSON with references, written here as `<logical id>`. */
const widgetsOf = ({ Properties }: Resource): readonly Widget[] =>
  bodyShape.parse(JSON.parse(written(Properties['DashboardBody']))).widgets;

/** `[namespace, name, dimension, value, …, options]`; an expression has only options. */
const shownIn = (dashboard: Resource): readonly Shown[] =>
  widgetsOf(dashboard).flatMap(({ properties: { title = '', metrics } }) =>
    metrics.flatMap((row): readonly Shown[] => {
      const [namespace, name, ...rest] = row.filter((part) => typeof part === 'string');
      if (namespace === undefined || name === undefined) return [];
      const pairs = rest.flatMap((part, at) => (at % 2 === 0 ? [[part, rest[at + 1] ?? ''] as const] : []));
      return [{ graph: title, namespace, name, dimensions: Object.fromEntries(pairs) }];
    }),
  );

const counted = synthesize({ metrics: true });
const plain = synthesize();
const dashboardsIn = ({ runtime }: Pick<typeof plain, 'runtime'>): readonly Resource[] =>
  ofType(runtime, 'CloudWatch::Dashboard');
const all = [counted, plain, synthesize({ metrics: true, ...withTraces })].flatMap(dashboardsIn);
const titlesOf = (dashboard: Resource | undefined): readonly string[] =>
  dashboard === undefined
    ? []
    : widgetsOf(dashboard).flatMap(({ properties: { title } }) => (title === undefined ? [] : [title]));
const known = new Set([...counted.data, ...synthesize(withTraces).runtime].map(({ id }) => id));
const apiName = ofType(counted.runtime, 'ApiGateway::RestApi').map(({ Properties }) => Properties['Name']);

/** Metrics of a dashboard that do not exist. */
function unknownIn(dashboard: Resource): readonly string[] {
  const emitted = emittedMetrics();
  return shownIn(dashboard).flatMap(({ graph, namespace, name, dimensions }) => {
    const what = `${graph}: ${namespace} ${name} ${JSON.stringify(dimensions)}`;
    const keys = Object.keys(dimensions);
    if (namespace === 'Stepwell')
      return emitted.has(`${name} ${keys.toSorted().join()}`) ? [] : [`${what} is written by no function`];
    const ofMetric = documented[namespace]?.[name];
    if (ofMetric === undefined || keys.length === 0 || !keys.every((key) => ofMetric.includes(key)))
      return [`${what} is documented by nobody`];
    const { GlobalSecondaryIndexName: _, ...own } = dimensions;
    const [first = ''] = Object.values(own);
    const id =
      /^<(?:[\w-]+:ExportsOutput(?:Ref|FnGetAtt))?([A-Za-z0-9]+?)(?:\.\w+|(?<=[0-9A-F]{8})[0-9A-F]{8})?>$/.exec(first)?.[1] ?? '';
    return known.has(id) || apiName.includes(first) ? [] : [`${what} names no resource of this installation`];
  });
}

/** Names and dimensions of the installation's metrics, collected by emitting them. */
function emittedMetrics(): ReadonlySet<string> {
  const lines: string[] = [];
  const line = z.looseObject({
    _aws: z.object({
      CloudWatchMetrics: z.array(
        z.object({ Dimensions: z.array(z.array(z.string())), Metrics: z.array(z.object({ Name: z.string() })) }),
      ),
    }),
  });
  new EmfMetrics((text) => void lines.push(text), 'runs').emit(
    [
      { name: 'RunsStarted', value: 1, dimensions: {} },
      { name: 'RunsEnded', value: 1, dimensions: { WorkflowName: 'a', Status: 'completed' } },
    ],
    instant(0),
  );
  return new Set(
    lines.flatMap((text) =>
      line
        .parse(JSON.parse(text))
        ._aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
          Metrics.flatMap(({ Name }) => Dimensions.map((keys) => `${Name} ${keys.toSorted().join()}`)),
        ),
    ),
  );
}

test('every metric of every dashboard exists', () => {
  for (const dashboard of all) {
    expect(unknownIn(dashboard)).toEqual([]);
    expect(shownIn(dashboard).length).toBeGreaterThan(20);
  }
  expect([...new Set(all.flatMap(shownIn).flatMap(({ namespace, name }) => (namespace === 'Stepwell' ? [name] : [])))]).toEqual([
    'RunsStarted',
    'RunsEnded',
  ]);
  expect(Object.keys(metricUnits)).toEqual(expect.arrayContaining(['RunsStarted', 'RunsEnded']));
});

test.each([
  ['a metric of nobody', 'Throttles', 'Throttled', /documented by nobody/],
  ['a metric that no function writes', 'RunsStarted', 'RunsBegun', /written by no function/],
  ['a resource of somebody else', '"FunctionName","', '"FunctionName","other-', /names no resource/],
  ['a dimension that it does not have', '"QueueName"', '"QueueUrl"', /documented by nobody/],
])('%s is found', (_what, from, to, finding) => {
  const [operation] = dashboardsIn(counted);
  const Properties = { DashboardBody: written(operation?.Properties['DashboardBody']).replaceAll(from, to) };
  expect(unknownIn({ id: 'Planted', Type: 'AWS::CloudWatch::Dashboard', Properties }).join('\n')).toMatch(finding);
});

test('a dashboard uses at most 50 metrics, the limit of the free tier', () => {
  const sizes = all.map(
    (dashboard) =>
      new Set(shownIn(dashboard).map(({ namespace, name, dimensions }) => JSON.stringify([namespace, name, dimensions]))).size,
  );
  expect(Math.max(...sizes)).toBeLessThanOrEqual(50);
  expect([dashboardsIn(plain).length, dashboardsIn(counted).length]).toEqual([1, 2]);
});

test('the graphs, and those that require the setting metrics', () => {
  const [operation, cost] = dashboardsIn(counted);
  expect(titlesOf(operation)).toEqual([
    'Runs started',
    'Runs ended',
    'Age of the oldest message',
    'Dead letters',
    'Errors by function',
    'Throttles by function',
    'Lost puts',
    'Sweeps',
    'API requests',
    'API latency',
  ]);
  expect(titlesOf(cost)).toEqual(['Estimated cost', 'Estimated cost per run']);
  expect(titlesOf(dashboardsIn(plain)[0])).toEqual(titlesOf(operation).slice(2));
});

test('every queue and every function has a graph', () => {
  const [operation] = dashboardsIn(plain);
  const shown = operation === undefined ? [] : shownIn(operation);
  const of = (graph: string): number => shown.filter((one) => one.graph === graph).length;
  const queues = ofType(plain.runtime, 'SQS::Queue').length;
  expect(of('Age of the oldest message') + of('Dead letters')).toBe(queues);
  // The first-key function runs during deployments only.
  const functions = ofType(plain.runtime, 'Lambda::Function').length - 1;
  // The 5xx errors of the gateway show a throttled page of the console.
  expect([of('Errors by function'), of('Throttles by function')]).toEqual([functions, functions - 1]);
});

test('the setting dashboard removes the dashboards', () => {
  expect(dashboardsIn(synthesize({ dashboard: 'false', metrics: true }))).toEqual([]);
});

test('no dashboard has a fixed name, because dashboard names are global in an account', () => {
  for (const { Properties } of all) expect(Properties).not.toHaveProperty('DashboardName');
});

describe('the cost estimate', () => {
  const [, cost] = dashboardsIn(counted);
  const rows = cost === undefined ? [] : widgetsOf(cost).flatMap(({ properties: { metrics } }) => metrics);
  const option = z.looseObject({ expression: z.string().default(''), label: z.string().default(''), id: z.string().default('') });
  const optionsOf = (row: readonly unknown[]) => option.parse(z.looseObject({}).catch({}).parse(row.at(-1)));
  const expressions = rows.map(optionsOf).filter(({ expression }) => expression !== '');

  test('sums parts that fit CloudWatch’s maximum expression length', () => {
    expect(expressions.map(({ label }) => label)).toEqual(
      expect.arrayContaining(['API', 'functions', 'tables', 'queues', 'dollars a run']),
    );
    // https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataQuery.html
    for (const { expression } of expressions) expect(expression.length).toBeLessThan(2_048);
  });

  test('uses each metric name once', () => {
    const widgets = cost === undefined ? [] : widgetsOf(cost);
    for (const { properties } of widgets) {
      const options = properties.metrics.map(optionsOf);
      const ids = options.map(({ id }) => id).filter((id) => id !== '');
      expect(new Set(ids).size).toBe(ids.length);
      const used = options.flatMap(({ expression }) => expression.match(/\b[a-z]\w*\d+\b/g) ?? []);
      expect(used.filter((id) => !ids.includes(id))).toEqual([]);
    }
  });

  test('equals a manual calculation for one run', () => {
    const functions = expressions.find(({ label }) => label === 'functions')?.expression ?? '';
    // One second at 1,024 MB, and one invocation.
    expect(functions).toContain('FILL(f0,0)*0.000000013333+FILL(f1,0)*0.0000002');
  });
});

test('every page of the runbook names an existing graph, or says that there is none', () => {
  const [, ...pages] = readFileSync(new URL('../../docs/RUNBOOK.md', import.meta.url), 'utf8').split(/^## /m);
  const [operation] = dashboardsIn(plain);
  for (const page of pages) {
    const [, named] = /^- Dashboard: (?:the graph "(.+?)"|no graph)/m.exec(page) ?? [];
    expect(page, page.slice(0, 40)).toMatch(/^- Dashboard: /m);
    if (named !== undefined) expect(titlesOf(operation), page.slice(0, 40)).toContain(named);
  }
});
