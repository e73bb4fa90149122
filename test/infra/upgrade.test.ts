/** An upgrade keeps what an installation has: no data is replaced, renamed or deleted, and no fixed name is needed twice. */
import { describe, expect, test } from 'vitest';
import { type Template, readBaseline, templatesToday } from './upgrade/baseline.ts';
import { judgeUpgrade } from './upgrade/judge-upgrade.ts';

type Resource = Template['Resources'][string];

const baseline = readBaseline();
const today = templatesToday();
const [data = '', runtime = ''] = Object.keys(today);

test('an upgrade from the recorded release harms nothing', () => {
  expect(judgeUpgrade(baseline, today)).toEqual([]);
});

test('the baseline has all that holds data', () => {
  const types = Object.values(baseline).flatMap(({ Resources }) => Object.values(Resources).map(({ Type }) => Type));
  const count = (type: string): number => types.filter((one) => one === `AWS::${type}`).length;
  expect(['DynamoDB::Table', 'S3::Bucket', 'SecretsManager::Secret', 'Scheduler::ScheduleGroup'].map(count)).toEqual([
    2, 1, 1, 1,
  ]);
  expect(count('SQS::Queue')).toBeGreaterThan(5);
  expect(Object.keys(baseline[data]?.Exports ?? {})).not.toEqual([]);
});

test('what is new harms nothing', () => {
  const table: Resource = { Type: 'AWS::DynamoDB::Table', Properties: { TableName: 'new' } };
  expect(
    judgeUpgrade(
      baseline,
      edited(data, (resources) => ({ ...resources, New: table })),
    ),
  ).toEqual([]);
});

function edited(
  stack: string,
  edit: (resources: Template['Resources']) => Template['Resources'],
): Readonly<Record<string, Template>> {
  const template = today[stack];
  if (template === undefined) throw new Error(`there is no stack ${stack}`);
  return { ...today, [stack]: { ...template, Resources: edit(template.Resources) } };
}

/** The logical id of the one resource that has this in it and ends with a digest. */
function idOf(stack: string, part: string): string {
  const [id, ...more] = Object.keys(today[stack]?.Resources ?? {}).filter((one) =>
    one.replace(/[0-9A-F]{8}$/, '').endsWith(part),
  );
  if (id === undefined || more.length > 0) throw new Error(`${more.length === 0 ? 'no' : 'more than one'} resource ${part}`);
  return id;
}

const changed = (stack: string, part: string, change: (resource: Resource) => Resource): string => {
  const id = idOf(stack, part);
  return judgeUpgrade(
    baseline,
    edited(stack, (all) => Object.fromEntries(Object.entries(all).map(([key, one]) => [key, key === id ? change(one) : one]))),
  ).join('\n');
};

const renamed = (stack: string, part: string): string => {
  const id = idOf(stack, part);
  return judgeUpgrade(
    baseline,
    edited(stack, (all) => Object.fromEntries(Object.entries(all).map(([key, one]) => [key === id ? `${key}2` : key, one]))),
  ).join('\n');
};

const having =
  (more: Readonly<Record<string, unknown>>) =>
  (resource: Resource): Resource => ({ ...resource, Properties: { ...resource.Properties, ...more } });

describe('a planted change is named, with what would happen to the data', () => {
  test('another key of a table', () => {
    expect(changed(data, 'RunsTable', having({ KeySchema: [{ AttributeName: 'other', KeyType: 'HASH' }] }))).toMatch(
      /^Stepwell-Data: StorageRunsTable\w+ \(AWS::DynamoDB::Table\) would be replaced, because KeySchema changed\. The old one stays .* every item would seem to be gone\.$/,
    );
  });

  test('another type of a key', () => {
    const numbers = ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'N' }));
    expect(changed(data, 'ControlTable', having({ AttributeDefinitions: numbers }))).toMatch(
      /would be replaced, because the type of pk changed\. /,
    );
  });

  test('a table that is given a name', () => {
    expect(changed(data, 'RunsTable', having({ TableName: 'runs' }))).toMatch(/would be replaced, because TableName changed/);
  });

  test('an index that is gone, and one with another key', () => {
    expect(changed(data, 'RunsTable', having({ GlobalSecondaryIndexes: [{ IndexName: 'byState' }] }))).toMatch(
      /loses its index byProject: .*\n.*makes its index byState again: lists that read it lack runs/,
    );
  });

  test('another logical id', () => {
    expect(renamed(data, 'StorageBucket')).toMatch(
      /StorageBucket\w+ \(AWS::S3::Bucket\) is no longer in the template\. The old one stays .* every payload and every deployment artifact would seem to be gone/,
    );
  });

  test('a DeletionPolicy that is dropped, and one that deletes', () => {
    const { DeletionPolicy: _, ...rest } = today[data]?.Resources[idOf(data, 'RunsTable')] ?? { Type: '', Properties: {} };
    expect(changed(data, 'RunsTable', () => rest)).toMatch(
      /loses its DeletionPolicy Retain: every item would be deleted when its stack is deleted or the template lets go of it\.$/,
    );
    expect(changed(data, 'StorageFirstKey', (one) => ({ ...one, UpdateReplacePolicy: 'Delete' }))).toMatch(
      /loses its UpdateReplacePolicy Retain: the first admin key would be deleted when an update replaces it\.$/,
    );
  });

  test('a replacement without its UpdateReplacePolicy', () => {
    const loose = (one: Resource): Resource => ({ ...having({ TableName: 'runs' })(one), UpdateReplacePolicy: 'Delete' });
    expect(changed(data, 'RunsTable', loose)).toMatch(/CloudFormation deletes the old one, and every item with it\./);
  });

  test('a queue that is renamed, in the template and by its name', () => {
    const fate = 'CloudFormation deletes the old one, and every message that waits in it with it.';
    expect(renamed(runtime, 'QueuesDelayQueue')).toContain(`is no longer in the template. ${fate}`);
    expect(changed(runtime, 'QueuesCodeQueue', having({ QueueName: 'code.fifo' }))).toContain(
      `because QueueName changed. ${fate}`,
    );
  });

  test('a FIFO queue that becomes a standard one', () => {
    expect(changed(runtime, 'QueuesNodeQueue', having({ FifoQueue: false }))).toMatch(
      /because FifoQueue changed\. .*every message/,
    );
  });

  test('a resource of another type under the same id', () => {
    expect(changed(data, 'ControlTable', (one) => ({ ...one, Type: 'AWS::DynamoDB::GlobalTable' }))).toMatch(
      /ControlTable\w+ \(AWS::DynamoDB::Table\) would be replaced, because its type changed/,
    );
  });

  test('a fixed name that old and new would have at once', () => {
    expect(renamed(runtime, 'TimersGroup')).toMatch(
      /TimersGroup\w+2 \(AWS::Scheduler::ScheduleGroup\) could not be created, and the deployment would roll back: StepwellTimersGroup\w+ has the same Name .*until it is deleted/,
    );
    expect(renamed(runtime, 'Stageprod')).toMatch(/has the same StageName "prod" until it is deleted/);
  });

  test('an API or a bus that others know', () => {
    expect(renamed(runtime, 'HttpApiRestApi')).toMatch(/the address that clients call with it/);
    expect(renamed(runtime, 'EventBus')).toMatch(/the bus that the rules of others listen to with it/);
  });

  test('a stack of another name', () => {
    const { [data]: _, ...rest } = today;
    expect(judgeUpgrade(baseline, rest)).toEqual([expect.stringMatching(/^Stepwell-Data: there is no stack of this name/)]);
  });

  test('an export that the installed runtime imports', () => {
    const template = today[data];
    if (template === undefined) throw new Error('there is no data stack');
    const [first = '', ...others] = Object.keys(template.Outputs);
    const Outputs = Object.fromEntries(others.map((name) => [name, template.Outputs[name] ?? { Value: '' }]));
    expect(judgeUpgrade(baseline, { ...today, [data]: { ...template, Outputs } })).toEqual([
      expect.stringMatching(new RegExp(`the export Stepwell-Data:${first} is gone: CloudFormation refuses that`)),
    ]);
  });
});
