import { readFileSync } from 'node:fs';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { Alarms, alarmEntries, anchor, triggerAlarmEntries } from '../../lib/constructs/alarms.ts';
import { Stepwell } from '../../lib/constructs/stepwell.ts';
import { metricUnits } from '../../lib/engine/log/run-metrics.ts';
import { type Resource, byId, emptyBundles, ofType, pointedAt, synthesize, usualFunctions, withTraces } from './synthesized.ts';

const runbook = readFileSync(new URL('../../docs/RUNBOOK.md', import.meta.url), 'utf8');
const [, ...pages] = runbook.split(/^## /m);
const headings = pages.map((page) => page.split('\n')[0]);

const { runtime } = synthesize(withTraces);
const alarms = ofType(runtime, 'CloudWatch::Alarm');

/** The entry of an alarm. A second alarm of an entry has a number after its name; CDK appends a hash. */
const entryOf = ({ id }: { readonly id: string }): string => id.replace(/^\w*?Alarms|\d*[0-9A-F]{8}$/g, '');

test('every alarm has a page in the runbook, and every page an alarm', () => {
  expect(headings).toEqual([...alarmEntries, ...triggerAlarmEntries].map(({ heading }) => heading));
  expect(new Set(headings).size).toBe(headings.length);
});

test('every page has a description, an investigation and a resolution', () => {
  for (const page of pages) {
    const [, ...parts] = page.split(/^### /m);
    const titles = parts.map((part) => part.split('\n')[0]);
    expect(titles, page.slice(0, 40)).toEqual(['Description', 'Investigation', 'Resolution']);
    for (const part of parts) expect(part.split('\n').slice(1).join('').trim().length, part).toBeGreaterThan(40);
  }
});

test('every alarm is deployed, with the reason for its threshold and a link to its page', () => {
  expect([...new Set(alarms.map(entryOf))]).toEqual(alarmEntries.map(({ name }) => name));
  for (const { name, heading, reason, threshold } of alarmEntries) {
    for (const { Properties } of alarms.filter((alarm) => entryOf(alarm) === name)) {
      expect(Properties, heading).toMatchObject({
        AlarmDescription: `${heading}. ${reason} docs/RUNBOOK.md#${anchor(heading)}`,
        Threshold: threshold,
      });
    }
  }
});

test('missing data breaches an alarm on too few events, and no other alarm', () => {
  for (const { id, Properties } of alarms) {
    const below = id.includes('SweepNotStarting');
    expect(Properties, id).toMatchObject({
      TreatMissingData: below ? 'breaching' : 'notBreaching',
      ComparisonOperator: below ? 'LessThanThreshold' : 'GreaterThanOrEqualToThreshold',
    });
  }
});

/** Maximum delay of a message on the delay queue, in seconds. The metric can include it. */
const maxDelay = 900;

test('no age alarm fires for a message that its function handles within the timeout', () => {
  const aged = alarms.filter(({ Properties }) => Properties['MetricName'] === 'ApproximateAgeOfOldestMessage');
  expect(aged.map(entryOf)).toEqual([
    'NodeJobsWait',
    'DelayedWait',
    'ResultsWait',
    'CodeMessagesWait',
    'BroadcastsWait',
    'TracesWait',
  ]);
  const mapping = z.object({ EventSourceArn: z.unknown().transform(pointedAt), FunctionName: z.unknown().transform(pointedAt) });
  const consumers = ofType(runtime, 'Lambda::EventSourceMapping').map(({ Properties }) => mapping.parse(Properties));
  for (const { id, Properties } of aged) {
    const queue = z
      .array(z.object({ Value: z.unknown() }))
      .transform((dimensions) => JSON.stringify(dimensions))
      .parse(Properties['Dimensions']);
    const consumer = consumers.find(({ EventSourceArn }) => queue.includes(EventSourceArn));
    const fn = runtime.find((resource) => resource.id === consumer?.FunctionName);
    const delay = queue.includes('DelayQueue') ? maxDelay : 0;
    expect(Number(Properties['Threshold']), id).toBeGreaterThan(Number(fn?.Properties['Timeout']) + delay);
  }
});

test('the alarm for dead letters covers every dead-letter queue', () => {
  const alarm = alarms.find(({ id }) => id.startsWith('StepwellAlarmsDeadLetters'));
  const watched = JSON.stringify(alarm?.Properties['Metrics']).match(/StepwellQueues\w*DeadLetters[0-9A-F]{8}/g);
  const deadLetters = ofType(runtime, 'SQS::Queue').filter(({ id }) => id.includes('DeadLetters'));
  expect(watched).toEqual(deadLetters.map(({ id }) => id));
});

test('the alarm for recursive invocations covers every function that allows recursive loops', () => {
  const alarm = alarms.find(({ id }) => id.startsWith('StepwellAlarmsRecursiveInvocationsDropped'));
  const text = JSON.stringify(alarm?.Properties['Metrics']);
  const allowed = ofType(runtime, 'Lambda::Function').filter(({ Properties }) => Properties['RecursiveLoop'] === 'Allow');
  expect(text.match(/StepwellFunctions\w+Function[0-9A-F]{8}/g)).toEqual(allowed.map(({ id }) => id));
  expect(text.match(/RecursiveInvocationsDropped/g)).toHaveLength(allowed.length);
});

test('the alarm for messages without progress uses the metric of this installation', () => {
  const alarm = alarms.find(({ id }) => id.startsWith('StepwellAlarmsMessagesSlowed'));
  expect(alarm?.Properties).toMatchObject({
    Namespace: 'Stepwell',
    MetricName: 'MessagesSlowed',
    Dimensions: [{ Name: 'RunsTable', Value: expect.anything() }],
    EvaluationPeriods: 3,
  });
  expect(Object.keys(metricUnits)).toContain('MessagesSlowed');
  const told = byId(runtime, 'StepwellFunctionsWorkerFunction').Properties['Environment'];
  expect(Object(told).Variables.STEPWELL_RUNS_TABLE).toEqual(Object(alarm?.Properties['Dimensions'])[0].Value);
});

/** Queues and functions without an alarm on age, dead letters or errors. */
function unwatched(resources: readonly Resource[]): readonly string[] {
  const watching = (metricName: string): readonly string[] =>
    ofType(resources, 'CloudWatch::Alarm').flatMap(({ Properties }) => metricsOf(Properties, metricName));
  const aged = watching('ApproximateAgeOfOldestMessage');
  const left = watching('ApproximateNumberOfMessagesVisible');
  const failed = watching('Errors');
  const queues = ofType(resources, 'SQS::Queue').filter(({ id }) => !(id.includes('DeadLetters') ? left : aged).includes(id));
  const functions = ofType(resources, 'Lambda::Function').filter(({ id }) => !failed.includes(id));
  return [...queues, ...functions].map(({ id }) => id.replace(/[0-9A-F]{8}$/, ''));
}

/** Logical ids of the resources whose metric of this name an alarm uses, directly or in an expression. */
function metricsOf(alarm: Resource['Properties'], metricName: string): readonly string[] {
  const dimension = z.object({ Value: z.unknown().transform(pointedAt) });
  const metric = z.looseObject({ MetricName: z.string(), Dimensions: z.array(z.unknown()) });
  const { MetricName, Dimensions, Metrics } = z
    .looseObject({
      MetricName: z.string().exactOptional(),
      Dimensions: z.array(z.unknown()).exactOptional(),
      Metrics: z.array(z.looseObject({ MetricStat: z.looseObject({ Metric: metric }).exactOptional() })).default([]),
    })
    .parse(alarm);
  const all = [{ MetricName, Dimensions }, ...Metrics.map(({ MetricStat }) => MetricStat?.Metric)];
  return all
    .filter((one) => one?.MetricName === metricName)
    .flatMap((one) => z.array(dimension).parse(one?.Dimensions ?? []))
    .map(({ Value }) => Value);
}

test('every queue has an age alarm, and every function an error alarm', () => {
  expect(unwatched(runtime)).toEqual([]);
});

test('the check detects a queue or a function without an alarm', () => {
  const without = (...names: readonly string[]) =>
    runtime.filter((resource) => resource.Type !== 'AWS::CloudWatch::Alarm' || !names.includes(entryOf(resource)));
  expect(unwatched(without('DelayedWait'))).toEqual(['StepwellQueuesDelayQueue']);
  expect(unwatched(without('SocketsErrors'))).toEqual(['StepwellFunctionsSocketsFunction']);
  expect(unwatched(without('DeadLetters'))).toHaveLength(2);
});

test('a topic is notified of every alarm and of its end', () => {
  const alarmTopicArn = 'arn:aws:sns:eu-west-1:111122223333:on-call';
  const told = ofType(synthesize({ ...withTraces, alarmTopicArn }).runtime, 'CloudWatch::Alarm');
  expect(told).toHaveLength(alarms.length);
  for (const { id, Properties } of told) {
    expect(Properties, id).toMatchObject({ AlarmActions: [alarmTopicArn], OKActions: [alarmTopicArn] });
  }
});

test('resources that are not deployed have no alarm', () => {
  const { runtime: resources } = synthesize({}, emptyBundles(['api', 'worker']));
  const names = ofType(resources, 'CloudWatch::Alarm').map(({ id }) => id);
  expect(names.filter((id) => /Sweep|Collect|DeadLetterErrors|Watchers/.test(id))).toEqual([]);
});

describe('with any number of functions', () => {
  const namesIn = (alarm: Resource) => {
    const metrics = z.array(z.looseObject({ MetricStat: z.looseObject({ Metric: metric }).exactOptional() }));
    const looked = metrics.parse(alarm.Properties['Metrics']).flatMap(({ MetricStat }) => MetricStat?.Metric ?? []);
    return looked.map(({ Dimensions }) => JSON.stringify(Dimensions));
  };
  const metric = z.looseObject({ Dimensions: z.array(z.unknown()) });

  const resources = z.record(z.string(), z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()) }));
  const maxPlanted = 11;
  let planted: readonly Resource[];

  /** Creates all alarms several times, each time with one more planted function. */
  beforeAll(() => {
    // Twelve times all alarms exceed the resource limit of a stack; this stack is never deployed.
    const stack = new Stack(
      new App({ builtinCloudFormationValidation: false, context: { '@aws-cdk/core:stackResourceLimit': 1_000 } }),
      'Planted',
    );
    const { queues, storage, timers, functions } = new Stepwell(stack, 'Stepwell', { functionsDirectory: emptyBundles() });
    const more = Array.from({ length: maxPlanted }, (_, index) => {
      const name = `planted-${index + 1}`;
      const arn = `arn:aws:lambda:eu-west-1:111122223333:function:${name}`;
      return [name, { lambda: lambda.Function.fromFunctionArn(stack, name, arn) }] as const;
    });
    for (let count = 0; count <= maxPlanted; count += 1) {
      const all = new Map([...functions.byName, ...more.slice(0, count)]);
      const monitored = { queues, storage, timers, functions: all, restApi: undefined };
      new Alarms(stack, `With${count}Alarms`, { monitored, topic: undefined });
    }
    const found = resources.parse(Template.fromStack(stack).findResources('AWS::CloudWatch::Alarm'));
    planted = Object.entries(found).map(([id, one]) => ({ id, ...one }));
  });
  const throttleAlarms = (count: number) => planted.filter(({ id }) => id.startsWith(`With${count}AlarmsFunctionsThrottled`));

  test.each(Array.from({ length: 12 }, (_, more) => more))(
    'one alarm covers each function, and at most ten functions: %i more',
    (more) => {
      const found = throttleAlarms(more);
      const watched = found.map(namesIn);
      for (const names of watched) expect(names.length).toBeLessThanOrEqual(10);
      const own = usualFunctions.length - 4;
      expect(new Set(watched.flat()).size).toBe(own + more);
      expect(watched.flat()).toHaveLength(own + more);
      expect(found).toHaveLength(Math.ceil((own + more) / 10));
      for (let index = 1; index <= more; index += 1) {
        expect(watched.flat().filter((name) => name.includes(`"planted-${index}"`))).toHaveLength(1);
      }
      // All of them share one runbook page and one threshold.
      expect(new Set(found.map(({ Properties }) => Properties['AlarmDescription'])).size).toBe(1);
      expect(found.map(entryOf)).toEqual(found.map(() => 'FunctionsThrottled'));
    },
  );

  test('an alarm sums its metrics, and missing data counts as zero', () => {
    for (const alarm of throttleAlarms(maxPlanted)) {
      const sum = namesIn(alarm).map((_, index) => `FILL(m${index}, 0)`);
      expect(JSON.stringify(alarm.Properties['Metrics'])).toContain(`"${sum.join(' + ')}"`);
    }
  });
});

test('no alarm uses more metrics than CloudWatch allows', () => {
  for (const { id, Properties } of alarms) {
    const looked = JSON.stringify(Properties['Metrics'] ?? []).split('"MetricStat"').length - 1;
    expect(looked, id).toBeLessThanOrEqual(10);
  }
});
