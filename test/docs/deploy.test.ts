/** docs/DEPLOY.md counts what the template has, and names every setting. */
import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { checks } from '../../scripts/verify-checks.ts';
import { type Resource, type Synthesized, byId, ofType, pointedAt, synthesize, withTraces } from '../infra/synthesized.ts';
import { quotedIn, read, rowsIn } from './documents.ts';

const text = read('docs/DEPLOY.md');
const rows = rowsIn(text);
const costs = rows.filter(({ section }) => section === 'What an idle installation costs').map(({ cells }) => cells);
const cost = (item: string): readonly string[] => costs.find(([name]) => name === item) ?? [];

let runtime: readonly Resource[];
let made: Synthesized;
beforeAll(() => {
  made = synthesize();
  runtime = made.runtime;
});

const metricsShape = z.object({ Metrics: z.array(z.looseObject({ MetricStat: z.unknown().optional() })).optional() });
const pollsPerQueue = 5 * 3 * 43_200;

test('the polls: each queue that has an event source, FIFO and standard', () => {
  const polled = ofType(runtime, 'Lambda::EventSourceMapping').map(({ Properties }) => pointedAt(Properties['EventSourceArn']));
  const fifo = polled.filter((id) => runtime.find((resource) => resource.id === id)?.Properties['FifoQueue'] === true).length;
  const polls = pollsPerQueue.toLocaleString('en-US');
  expect(cost('Polls of FIFO queues by event sources')[1]).toBe(`${fifo} queues × ${polls}`);
  expect(cost('Polls of standard queues by event sources')[1]).toBe(`${polled.length - fifo} queues × ${polls}`);
  expect(cost('Polls of FIFO queues by event sources')[3]).toBe(((fifo * pollsPerQueue * 0.5) / 1e6).toFixed(2));
  expect(cost('Polls of standard queues by event sources')[3]).toBe(
    (((polled.length - fifo) * pollsPerQueue * 0.4) / 1e6).toFixed(2),
  );
});

test('the alarms, and the metrics that they look at', () => {
  const alarms = ofType(runtime, 'CloudWatch::Alarm');
  const metrics = alarms.map(
    ({ Properties }) => metricsShape.parse(Properties).Metrics?.filter((one) => one.MetricStat !== undefined).length ?? 1,
  );
  const sum = metrics.reduce((all, each) => all + each, 0);
  expect(cost('Alarms').slice(1)).toEqual([
    `${sum} metrics in ${alarms.length} alarms`,
    '$0.10 a metric',
    (sum * 0.1).toFixed(2),
  ]);
});

test('what traces add: one queue that is polled, and metrics of alarms', () => {
  const { runtime: sending } = synthesize(withTraces);
  const metricsIn = (resources: readonly Resource[]): number =>
    ofType(resources, 'CloudWatch::Alarm')
      .map(({ Properties }) => metricsShape.parse(Properties).Metrics?.filter((one) => one.MetricStat !== undefined).length ?? 1)
      .reduce((all, each) => all + each, 0);
  const mappings = (resources: readonly Resource[]): number => ofType(resources, 'Lambda::EventSourceMapping').length;
  expect([mappings(sending) - mappings(runtime), metricsIn(sending) - metricsIn(runtime)]).toEqual([1, 4]);
  const dollars = (pollsPerQueue * 0.4) / 1e6 + 4 * 0.1;
  expect(text).toContain(`The setting \`traces\` adds $${dollars.toFixed(2)} a month`);
  expect(read('docs/TRACES.md')).toContain('and $0.40 for four metrics of alarms.');
});

test('the sweep: every minute, with the memory that was reckoned with', () => {
  expect(byId(runtime, 'StepwellSweepScheduleEveryMinute').Properties['ScheduleExpression']).toBe('rate(1 minute)');
  expect(byId(runtime, 'StepwellFunctionsSweepFunction').Properties['MemorySize']).toBe(512);
});

test('nothing is in the template that costs at rest and is not in the table', () => {
  const types = new Set([...made.data, ...runtime].map(({ Type }) => Type));
  expect(cost('Secrets Manager')[1]).toBe(`${ofType(made.data, 'SecretsManager::Secret').length} secret`);
  expect(ofType(runtime, 'SecretsManager::Secret')).toEqual([]);
  const dashboards = ofType(runtime, 'CloudWatch::Dashboard').length;
  expect(cost('Dashboards').slice(1)).toEqual([`${dashboards} dashboard`, '$3.00 a dashboard', (dashboards * 3).toFixed(2)]);
  for (const dear of ['KMS::Key', 'EC2::NatGateway', 'WAFv2::WebACL']) expect(types).not.toContain(`AWS::${dear}`);
});

test('the sum is the sum', () => {
  const items = costs.filter(([name]) => name !== 'Sum').map((cells) => Number(cells[3]));
  expect(cost('Sum')[3]).toBe(items.reduce((all, each) => all + each, 0).toFixed(2));
});

test('the sum without the dashboard', () => {
  expect(text).toContain(
    `With \`dashboard: false\` the sum is $${(Number(cost('Sum')[3]) - Number(cost('Dashboards')[3])).toFixed(2)}.`,
  );
});

test('every setting, and no other', () => {
  const source = read('lib/stacks/settings.ts');
  const schemas = source.slice(source.indexOf('const productSchema'), source.indexOf('export type Settings'));
  const known = [...schemas.matchAll(/^ {2}([a-zA-Z]+):/gm)].map(([, name = '']) => name);
  const named = rows.filter(({ section }) => section === 'Settings').flatMap(({ cells: [name = ''] }) => quotedIn(name));
  expect(known.length).toBeGreaterThan(15);
  expect(named.toSorted()).toEqual(known.toSorted());
});

test('the number of checks', () => {
  expect([checks.length, text.includes('Twelve checks')]).toEqual([12, true]);
});
