import { expect, test } from 'vitest';
import * as z from 'zod';
import { environmentNames } from '../../lib/contract/environment.ts';
import { actionsOn, grantsIn, written } from './statements.ts';
import { byId, ofType, synthesize, usualFunctions } from './synthesized.ts';

const { data, runtime, text } = synthesize();
// stored-settings.test.ts tests the grants on large settings.
const grants = grantsIn([...data, ...runtime]).filter(({ Effect }) => Effect === 'Allow');
const roles = ofType(runtime, 'IAM::Role');

const environment = z.object({ Variables: z.record(z.string(), z.unknown()) });
const tables = /(Runs|Control)Table\w+>$/;

test('every grant names its resources', () => {
  expect(grants.length).toBeGreaterThan(50);
  const wild = new Set(grants.flatMap(({ Resource }) => Resource).filter((resource) => resource.includes('*')));
  expect([...wild].map((resource) => resource.replace(/^.*?(>\/|:(?=[a-z]+\/))/, '')).toSorted()).toEqual([
    'artifacts/*',
    'live/DELETE/@connections/*',
    'live/POST/@connections/*',
    'payloads/*',
    'payloads/*/~code/*',
    'payloads/*/~devkit/*',
    expect.stringMatching(/^schedule\/Stepwell-l-Timers-[0-9A-F]+-<AWS::StackId part 2>\/\*$/),
  ]);
});

test('no grant uses an action wildcard', () => {
  expect(grants.flatMap(({ Action }) => Action).filter((action) => action.includes('*'))).toEqual([]);
});

test('each function has a separate role', () => {
  const used = ofType(runtime, 'Lambda::Function').map(({ Properties }) => written(Properties['Role']));
  expect(new Set(used).size).toBe(usualFunctions.length);
});

test('no function role has a managed policy', () => {
  const managed = roles.filter(({ Properties }) => Properties['ManagedPolicyArns'] !== undefined).map(({ id }) => id);
  expect(managed).toEqual([expect.stringContaining('CloudWatchRole')]);
});

test('only the timers’ role may be passed, and only to EventBridge Scheduler', () => {
  const passing = grants.filter(({ Action }) => Action.includes('iam:PassRole'));
  expect(passing).toHaveLength(9);
  for (const grant of passing) {
    expect(grant.Action).toEqual(['iam:PassRole']);
    expect(grant.Resource).toEqual([`<${byId(runtime, 'StepwellTimersRole').id}.Arn>`]);
    expect(grant.Condition).toEqual({ StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } });
  }
});

test('a timer may only send to the delay queue', () => {
  const granted = grants.filter(({ role }) => role.startsWith('StepwellTimersRole'));
  expect(granted).toEqual([
    expect.objectContaining({ Action: ['sqs:SendMessage'], Resource: [`<${byId(runtime, 'StepwellQueuesDelayQueue').id}.Arn>`] }),
  ]);
});

test('only EventBridge Scheduler, for this group and account, may assume the schedules’ roles', () => {
  const group = byId(runtime, 'StepwellTimersGroup').id;
  for (const id of ['StepwellTimersRole', 'StepwellSweepScheduleRole']) {
    expect(byId(runtime, id).Properties['AssumeRolePolicyDocument']).toMatchObject({
      Statement: [
        {
          Principal: { Service: 'scheduler.amazonaws.com' },
          Condition: {
            StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' }, 'aws:SourceArn': { 'Fn::GetAtt': [group, 'Arn'] } },
          },
        },
      ],
    });
  }
});

test('only writers of payloads may tag objects', () => {
  const tagging = grants.filter(({ Action }) => Action.includes('s3:PutObjectTagging'));
  const putting = grants.filter(
    ({ Action, Resource }) => Action.includes('s3:PutObject') && Resource.some((one) => /payloads/.test(one)),
  );
  expect(tagging.map(({ role }) => role)).toEqual(putting.map(({ role }) => role));
  expect(tagging.length).toBeGreaterThan(3);
  for (const { Resource } of tagging) for (const one of Resource) expect(one).toMatch(/payloads\/\*(\/~(code|devkit)\/\*)?$/);
});

test('only the broadcaster posts to sockets, and only of this stage', () => {
  const posting = grants.filter(({ Action }) => Action.includes('execute-api:ManageConnections'));
  expect(posting.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, ''))).toEqual(['Broadcaster']);
  const { id } = byId(runtime, 'StepwellSocketApi');
  expect(posting[0]?.Resource.map((resource) => resource.replace(/^.*:/, '')).toSorted()).toEqual([
    `<${id}>/live/DELETE/@connections/*`,
    `<${id}>/live/POST/@connections/*`,
  ]);
});

test('every grant on a table names record kinds and requires a partition key', () => {
  const onTables = grants.filter(({ Resource }) => Resource.some((resource) => tables.test(resource)));
  expect(onTables.length).toBeGreaterThan(40);
  for (const { Condition, role } of onTables) {
    expect(Condition, role).toMatchObject({
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': expect.any(Array) },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    });
  }
});

test('the code function’s role reads no secret and invokes only the function of the World', () => {
  const code = actionsOn(grants, 'StepwellFunctionsCodeRole', /./);
  expect(code.filter((action) => /^(kms|lambda|secretsmanager):/.test(action))).toEqual(['lambda:InvokeFunction']);
  expect(actionsOn(grants, 'StepwellFunctionsCodeRole', /WorldFunction/)).toEqual(['lambda:InvokeFunction']);
});

test('functions invoke only these functions, each by its name: the API those that execute jobs', () => {
  const invoking = grants.filter(({ Action }) => Action.includes('lambda:InvokeFunction'));
  const named = (text: string): string => text.replaceAll(/^<?StepwellFunctions|Function[0-9A-F]{8}\.Arn>$|Role.*/g, '');
  const pairs = invoking.map(({ role, Resource }) => `${named(role)}: ${Resource.map(named).join(' and ')}`);
  expect(pairs.filter((pair) => !pair.startsWith('StepwellSweepSchedule')).toSorted()).toEqual([
    'Api: Code and Worker',
    'Code: World',
    'Webhooks: Code',
  ]);
});

test('the API function has no right to secrets, models, databases or deployed code, which the functions of jobs have', () => {
  const ofApi = actionsOn(grants, 'StepwellFunctionsApiRole', /./);
  expect(ofApi.filter((action) => /^(secretsmanager|bedrock|rds-data|sts):/.test(action))).toEqual([]);
});

// The library shows the newest run of a workflow in other pages.
test('only the API, the library, the World and the sweep list runs', () => {
  const listing = grants.filter(({ Resource }) => Resource.some((resource) => resource.includes('/index/')));
  const indexes = ({ Resource }: (typeof grants)[number]) => Resource.map((resource) => resource.replace(/.*\/index\//, ''));
  expect(listing.map((grant) => [grant.role.replace(/^StepwellFunctions|Role.*/g, ''), indexes(grant)])).toEqual([
    ['Api', ['byProject', 'byState']],
    ['Library', ['byProject', 'byState']],
    ['Sweep', ['byProject']],
    ['World', ['byProject', 'byState']],
  ]);
});

test('the sweep’s schedule may only invoke the sweep', () => {
  const sweep = byId(runtime, 'StepwellFunctionsSweepFunction').id;
  const granted = grants.filter(({ role }) => role.startsWith('StepwellSweepScheduleRole'));
  expect(granted).toEqual([expect.objectContaining({ Action: ['lambda:InvokeFunction'], Resource: [`<${sweep}.Arn>`] })]);
});

test('the functions’ variables are names and settings of the contract, and contain no secret', () => {
  const known: readonly string[] = Object.values(environmentNames);
  for (const { id, Properties } of ofType(runtime, 'Lambda::Function')) {
    const names = Object.keys(environment.parse(Properties['Environment']).Variables);
    expect(names.length, id).toBeGreaterThan(0);
    expect(
      names.filter((name) => !known.includes(name)),
      id,
    ).toEqual([]);
  }
  expect(text).not.toMatch(/SecretString|password|sw_[a-z]+_|whsec_|AKIA[0-9A-Z]{16}|BEGIN [A-Z ]*PRIVATE KEY/i);
});

test('an account’s KMS key may be used only through the storing services', () => {
  const encrypted = grantsIn(synthesize({ encryptionKey: 'own' }).runtime).filter(({ Action }) =>
    Action.some((action) => action.startsWith('kms:')),
  );
  expect(encrypted).toHaveLength(usualFunctions.length + 1);
  for (const { Condition, Resource } of encrypted) {
    expect(Condition).toMatchObject({ StringEquals: { 'kms:ViaService': expect.anything() } });
    expect(Resource).toEqual([expect.stringMatching(/^<Stepwell-Data:ExportsOutput.*Key/)]);
  }
});
