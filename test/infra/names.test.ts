/** Two installations in one account and region share no name, and no alarm of one covers the other. */
import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Stack, loadAssembly } from '../../lib/local/template/assembly.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { type Resource, byId, ofType, stacksWith, synthesize } from './synthesized.ts';

/** Names that are scoped to another resource, or refer to one. */
const scoped: ReadonlySet<string> = new Set([
  'AWS::IAM::Policy PolicyName',
  'AWS::ApiGateway::Stage StageName',
  'AWS::ApiGatewayV2::Stage StageName',
  'AWS::CloudWatch::Alarm MetricName',
]);

/** Literal names in the template. Names that CloudFormation generates are unique. */
const namesIn = (resources: readonly Resource[]): readonly string[] =>
  resources.flatMap(({ Type, Properties }) =>
    Object.entries(Properties)
      .filter(([key, value]) => key.endsWith('Name') && typeof value === 'string' && !scoped.has(`${Type} ${key}`))
      .map(([key, value]) => `${Type} ${key} ${String(value)}`),
  );

const dimensions = z.array(z.object({ Name: z.string(), Value: z.unknown() })).default([]);
const alarmShape = z.looseObject({
  Dimensions: dimensions,
  Metrics: z
    .array(z.looseObject({ MetricStat: z.looseObject({ Metric: z.looseObject({ Dimensions: dimensions }) }).exactOptional() }))
    .default([]),
});

const dimensionsIn = (resources: readonly Resource[]): readonly string[] =>
  ofType(resources, 'CloudWatch::Alarm').flatMap(({ Properties }) => {
    const { Dimensions, Metrics } = alarmShape.parse(Properties);
    const all = [...Dimensions, ...Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric.Dimensions ?? [])];
    // Operation names of a table are the same everywhere.
    return all.filter(({ Value }) => typeof Value === 'string').map(({ Name, Value }) => `${Name} ${String(Value)}`);
  });

const shared = (one: readonly string[], other: readonly string[]): readonly string[] =>
  one.filter((name) => other.includes(name));

describe('two installations', () => {
  const first = synthesize();
  const second = synthesize({ name: 'Second' });

  test('share no physical name', () => {
    const names = namesIn([...first.data, ...first.runtime]);
    expect(names.length).toBeGreaterThan(2);
    expect(shared(names, namesIn([...second.data, ...second.runtime]))).toEqual([]);
  });

  test('share no alarm dimension', () => {
    expect(dimensionsIn(first.runtime)).not.toEqual([]);
    expect(shared(dimensionsIn(first.runtime), dimensionsIn(second.runtime))).toEqual([]);
  });

  test('name their APIs after their stacks', () => {
    // The second type has the WebSocket API and the start API.
    for (const [type, count] of [
      ['ApiGateway::RestApi', 1],
      ['ApiGatewayV2::Api', 2],
    ] as const) {
      const namesOf = ({ runtime }: Pick<typeof first, 'runtime'>) =>
        ofType(runtime, type).map(({ Properties }) => Properties['Name']);
      const all = (pattern: RegExp) => Array.from({ length: count }, () => expect.stringMatching(pattern));
      expect(namesOf(first)).toEqual(all(/^Stepwell-Runtime-/));
      expect(namesOf(second)).toEqual(all(/^Second-Runtime-/));
      expect(new Set(namesOf(first)).size).toBe(count);
    }
  });
});

test('the schedule group’s name contains the stack’s name and UUID', () => {
  // A deleted group keeps its name while it is DELETING, so a stack that is created again needs another name.
  const { Name } = byId(synthesize().runtime, 'StepwellTimersGroup').Properties;
  expect(Name).toEqual({
    'Fn::Join': [
      '',
      [expect.stringMatching(/^Stepwell.{1,18}-$/), { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] }],
    ],
  });
});

describe('the embedded cloud', () => {
  let stacks: readonly Stack[];
  beforeAll(() => {
    const read = (settings: Readonly<Record<string, unknown>>) => loadAssembly(stacksWith(settings).app.synth().directory).stacks;
    stacks = [...read({}), ...read({ name: 'Second' })];
  });

  test('runs two installations at once', () => {
    expect(readTemplate({ stacks }, 'http://127.0.0.1:9').of('AWS::Scheduler::ScheduleGroup')).toHaveLength(2);
  });

  test('refuses two schedule groups with the same name', () => {
    const planted = stacks.map(({ name, template }) => ({
      name,
      template: {
        ...template,
        Resources: Object.fromEntries(
          Object.entries(template.Resources).map(([id, resource]) => [
            id,
            resource.Type === 'AWS::Scheduler::ScheduleGroup' ? { ...resource, Properties: { Name: 'timers' } } : resource,
          ]),
        ),
      },
    }));
    expect(() => readTemplate({ stacks: planted }, 'http://127.0.0.1:9')).toThrow(/both .* have the name 'timers'/);
  });
});
