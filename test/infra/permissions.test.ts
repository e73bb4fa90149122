import { expect, test } from 'vitest';
import * as z from 'zod';
import { environmentNames } from '../../lib/contract/environment.ts';
import { actionsOn, grantsIn, written } from './statements.ts';
import { byId, ofType, synthesize, usualFunctions } from './synthesized.ts';

const { data, runtime, text } = synthesize();
// What all but one are denied is in stored-settings.test.ts.
const grants = grantsIn([...data, ...runtime]).filter(({ Effect }) => Effect === 'Allow');
const roles = ofType(runtime, 'IAM::Role');

const environment = z.object({ Variables: z.record(z.string(), z.unknown()) });
const runsTable = /RunsTable\w+>$/;
const controlTable = /ControlTable/;

test('every grant names its resources', () => {
  expect(grants.length).toBeGreaterThan(50);
  const wild = new Set(grants.flatMap(({ Resource }) => Resource).filter((resource) => resource.includes('*')));
  expect([...wild].map((resource) => resource.replace(/^.*?(>\/|:(?=[a-z]+\/))/, '')).toSorted()).toEqual([
    'artifacts/*',
    'live/DELETE/@connections/*',
    'live/POST/@connections/*',
    'payloads/*',
    expect.stringMatching(/^schedule\/Stepwell-l-Timers-[0-9A-F]+-<AWS::StackId part 2>\/\*$/),
  ]);
});

test('no grant allows whatever a service will think of', () => {
  expect(grants.flatMap(({ Action }) => Action).filter((action) => action.includes('*'))).toEqual([]);
});

test('each function has a role of its own', () => {
  const used = ofType(runtime, 'Lambda::Function').map(({ Properties }) => written(Properties['Role']));
  expect(new Set(used).size).toBe(usualFunctions.length);
});

test('no role of a function carries a managed policy', () => {
  const managed = roles.filter(({ Properties }) => Properties['ManagedPolicyArns'] !== undefined).map(({ id }) => id);
  expect(managed).toEqual([expect.stringContaining('CloudWatchRole')]);
});

test('only the role of the timers may be passed on, and only to the scheduler', () => {
  const passing = grants.filter(({ Action }) => Action.includes('iam:PassRole'));
  expect(passing).toHaveLength(8);
  for (const grant of passing) {
    expect(grant.Action).toEqual(['iam:PassRole']);
    expect(grant.Resource).toEqual([`<${byId(runtime, 'StepwellTimersRole').id}.Arn>`]);
    expect(grant.Condition).toEqual({ StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } });
  }
});

test('a timer may send to the delay queue and nothing else', () => {
  const granted = grants.filter(({ role }) => role.startsWith('StepwellTimersRole'));
  expect(granted).toEqual([
    expect.objectContaining({ Action: ['sqs:SendMessage'], Resource: [`<${byId(runtime, 'StepwellQueuesDelayQueue').id}.Arn>`] }),
  ]);
});

test('only the scheduler, for its group in this account, may take the roles of schedules', () => {
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

test('two functions may delete from the Runs table, what runs wrote and when they are due; none may scan', () => {
  const actions = new Set(grants.flatMap(({ Action }) => Action).filter((action) => action.startsWith('dynamodb:')));
  expect([...actions].toSorted()).toEqual([
    'dynamodb:BatchGetItem',
    'dynamodb:DeleteItem',
    'dynamodb:GetItem',
    'dynamodb:PutItem',
    'dynamodb:Query',
    'dynamodb:UpdateItem',
  ]);
  const deleting = grants.filter(({ Action }) => Action.includes('dynamodb:DeleteItem'));
  const fromRuns = deleting.filter(({ Resource }) => Resource.some((resource) => runsTable.test(resource)));
  expect(fromRuns).toMatchObject(
    ['TestRuns', 'Sweep'].map((name) => ({
      role: expect.stringContaining(`Functions${name}Role`),
      Action: ['dynamodb:DeleteItem'],
      Condition: {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['*#run#*', 'due#*'] },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      },
    })),
  );
  for (const { Resource } of deleting.filter((grant) => !fromRuns.includes(grant)))
    expect(Resource).toEqual([expect.stringMatching(controlTable)]);
  const anywhere = deleting.filter(({ Condition }) => Condition['ForAllValues:StringLike'] === undefined);
  expect(anywhere.map(({ role }) => role.replace(/Role.*/, ''))).toEqual(['StepwellFunctionsApi', 'StepwellFunctionsLibrary']);
});

const isOfSockets = ({ Condition }: (typeof grants)[number]): boolean => JSON.stringify(Condition).includes('#watch#');
const isOfSignals = ({ Condition }: (typeof grants)[number]): boolean => JSON.stringify(Condition).includes('#signal#');

/** Of workflows: their records, versions and names. */
const isOfDeletions = ({ Condition }: (typeof grants)[number]): boolean =>
  /~deletions|"\*#workflow#\*"/.test(JSON.stringify(Condition)) && !JSON.stringify(Condition).includes('#deployments');

const isOfPlaces = ({ Condition }: (typeof grants)[number]): boolean => JSON.stringify(Condition).includes('#places#');

test('the worker alone gives places to runs, in their partitions and nowhere else', () => {
  const keeping = grants.filter(isOfPlaces);
  expect(keeping.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, ''))).toEqual(['Worker']);
  for (const { Condition, Resource, Action } of keeping) {
    expect(Resource).toEqual([expect.stringMatching(controlTable)]);
    expect(Action.toSorted()).toEqual(['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:Query']);
    expect(Condition).toEqual({
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['*#places#*'] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    });
  }
});

test('whoever may end a run may end its hold on a deployment, and delete nothing else', () => {
  const deleting = grants.filter(
    ({ Action, Condition }) => Action.includes('dynamodb:DeleteItem') && Condition['Null'] !== undefined,
  );
  // Reservations of starts that came to nothing, and marks of schedules that are right again.
  const isOfStarts = ({ Condition }: (typeof grants)[number]): boolean =>
    /#idempotency#|~schedules/.test(JSON.stringify(Condition));
  const isOfRuns = ({ Condition }: (typeof grants)[number]): boolean => JSON.stringify(Condition).includes('"due#*"');
  const isOfStreams = ({ Condition }: (typeof grants)[number]): boolean => JSON.stringify(Condition).includes('"~stream-slots"');
  expect(deleting.filter(isOfStreams)).toMatchObject([
    {
      role: expect.stringContaining('Events'),
      Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['~stream-slots'] } },
    },
  ]);
  const ending = deleting.filter(
    (grant) => ![isOfStreams, isOfSignals, isOfStarts, isOfRuns, isOfPlaces, isOfSockets, isOfDeletions].some((is) => is(grant)),
  );
  expect(deleting.filter(isOfRuns).map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, ''))).toEqual([
    'TestRuns',
    'Sweep',
  ]);
  expect(
    deleting
      .filter(isOfStarts)
      .map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, ''))
      .toSorted(),
  ).toEqual(['Sweep', 'TestRuns', 'Webhooks', 'Worker']);
  expect(ending.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, '')).toSorted()).toEqual([
    'Api',
    'Code',
    'Collect',
    'DeadLetter',
    'Deployments',
    'Sweep',
    'Webhooks',
    'Worker',
  ]);
  for (const { Condition, role } of ending) {
    const listed = role.includes('Deployments') ? ['*#deployments'] : [];
    expect(Condition).toEqual({
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [...listed, '*#deployment#*'] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    });
  }
});

test('whoever moves runs of graphs meets signals, in their partitions and nowhere else', () => {
  const meeting = grants.filter((grant) => isOfSignals(grant) && !grant.role.startsWith('StepwellFunctionsCode'));
  expect(meeting.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, '')).toSorted()).toEqual([
    'Api',
    'Collect',
    'DeadLetter',
    'Sweep',
    'TestRuns',
    'Webhooks',
    'Worker',
  ]);
  for (const { Condition, Resource } of meeting) {
    expect(Resource).toEqual([expect.stringMatching(controlTable)]);
    expect(Condition).toEqual({
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['*#signal#*'] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    });
  }
});

test('the role that authors’ code runs with sees deployments and no keys, and puts no artifacts', () => {
  const code = 'StepwellFunctionsCodeRole';
  const own = grants.filter(({ role }) => role.startsWith(code));
  expect(actionsOn(grants, code, runsTable)).toEqual([
    'dynamodb:GetItem',
    'dynamodb:PutItem',
    'dynamodb:Query',
    'dynamodb:UpdateItem',
  ]);
  const onControl = own.filter(({ Resource }) => Resource.some((resource) => controlTable.test(resource)));
  expect(onControl.map(({ Action, Condition }) => [Action, Condition['ForAllValues:StringLike']])).toEqual([
    [['dynamodb:GetItem'], { 'dynamodb:LeadingKeys': ['*#deployments'] }],
    [['dynamodb:GetItem'], { 'dynamodb:LeadingKeys': ['~settings#codeVariables'] }],
    [['dynamodb:DeleteItem'], { 'dynamodb:LeadingKeys': ['*#deployment#*'] }],
    // It leaves signals and waits, and brings none together: that would move runs of others.
    [['dynamodb:PutItem', 'dynamodb:Query'], { 'dynamodb:LeadingKeys': ['*#signal#*'] }],
  ]);
  expect(actionsOn(grants, code, /artifacts\/\*$/)).toEqual(['s3:GetObject']);
  expect(actionsOn(grants, code, /./).filter((action) => /^(kms|lambda|secretsmanager):/.test(action))).toEqual([]);
});

test('whoever moves runs reads and writes the Runs table, and reads definitions', () => {
  const noHolds = grants.filter(({ Action }) => !Action.includes('dynamodb:DeleteItem'));
  for (const role of ['Worker', 'Collect', 'DeadLetter'].map((name) => `StepwellFunctions${name}Role`)) {
    expect(actionsOn(grants, role, runsTable), role).toEqual([
      'dynamodb:GetItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
    ]);
    const unnamed = noHolds.filter(({ Condition }) => Condition['ForAllValues:StringLike'] === undefined);
    expect(actionsOn(unnamed, role, controlTable), role).toEqual(['dynamodb:GetItem']);
  }
});

test('only the functions that keep schedules take alarms away, and a fire is noted by two others', () => {
  const removing = grants.filter(({ Action }) => Action.includes('scheduler:DeleteSchedule'));
  expect(removing.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, '')).toSorted()).toEqual(['Library', 'Sweep']);
  for (const { Resource } of removing)
    expect(Resource).toEqual([expect.stringMatching(/schedule\/Stepwell-l-Timers-[0-9A-F]+-<AWS::StackId part 2>\/\*$/)]);
  const noting = grants.filter(({ Condition }) => JSON.stringify(Condition).includes('"*#schedules"'));
  expect(noting.map(({ role, Action }) => [role.replace(/^StepwellFunctions|Role.*/g, ''), Action])).toEqual([
    ['Worker', ['dynamodb:GetItem', 'dynamodb:UpdateItem']],
    ['DeadLetter', ['dynamodb:GetItem', 'dynamodb:UpdateItem']],
  ]);
});

test('only the function of deployments puts and removes artifacts, and it reads no payloads', () => {
  const keeping = grants.filter(({ Action }) => Action.includes('s3:PutObject') || Action.includes('s3:DeleteObject'));
  const artifacts = keeping.filter(({ Resource }) => Resource.some((resource) => resource.includes('artifacts/')));
  expect(artifacts.map(({ role }) => role.replace(/Role.*/, ''))).toEqual(['StepwellFunctionsDeployments']);
  expect(actionsOn(grants, 'StepwellFunctionsDeploymentsRole', /payloads\/\*$/)).toEqual([]);
  expect(actionsOn(grants, 'StepwellFunctionsDeploymentsRole', runsTable)).toEqual(['dynamodb:GetItem', 'dynamodb:Query']);
});

test('whoever writes payloads says when they expire, and nobody else tags objects', () => {
  const tagging = grants.filter(({ Action }) => Action.includes('s3:PutObjectTagging'));
  const putting = grants.filter(
    ({ Action, Resource }) => Action.includes('s3:PutObject') && Resource.some((one) => /payloads/.test(one)),
  );
  expect(tagging.map(({ role }) => role)).toEqual(putting.map(({ role }) => role));
  expect(tagging.length).toBeGreaterThan(3);
  for (const { Resource } of tagging) expect(Resource).toEqual([expect.stringMatching(/payloads\/\*$/)]);
});

test('a watcher writes nothing about runs and sends nothing', () => {
  const events = 'StepwellFunctionsEventsRole';
  expect(actionsOn(grants, events, runsTable)).toEqual(['dynamodb:GetItem', 'dynamodb:Query']);
  expect(actionsOn(grants, events, /./).filter((action) => /^(sqs|scheduler|events|iam):|s3:Put/.test(action))).toEqual([]);
});

test('who watches over sockets is known to three functions, in partitions of their own', () => {
  const keeping = grants.filter(isOfSockets);
  expect(keeping.map(({ role, Action }) => [role.replace(/^StepwellFunctions|Role.*/g, ''), Action.toSorted()])).toEqual([
    ['DeadLetter', ['dynamodb:DeleteItem', 'dynamodb:Query']],
    ['Sockets', ['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:Query', 'dynamodb:UpdateItem']],
    ['Speaker', ['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:Query', 'dynamodb:UpdateItem']],
  ]);
  const partitions = keeping.map(({ Condition }) => Condition['ForAllValues:StringLike']);
  expect(partitions).toEqual([
    { 'dynamodb:LeadingKeys': ['*#watch#*'] },
    { 'dynamodb:LeadingKeys': ['~socket#*', '*#watch#*'] },
    { 'dynamodb:LeadingKeys': ['~socket#*', '*#watch#*'] },
  ]);
});

test('one function posts to sockets, of this stage alone, and whoever lets sockets in cannot', () => {
  const posting = grants.filter(({ Action }) => Action.includes('execute-api:ManageConnections'));
  expect(posting.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, ''))).toEqual(['Speaker']);
  const { id } = byId(runtime, 'StepwellSocketApi');
  expect(posting[0]?.Resource.map((resource) => resource.replace(/^.*:/, '')).toSorted()).toEqual([
    `<${id}>/live/DELETE/@connections/*`,
    `<${id}>/live/POST/@connections/*`,
  ]);
});

test('the functions of sockets write nothing about runs, and of keys one only notes their use', () => {
  for (const role of ['StepwellFunctionsSocketsRole', 'StepwellFunctionsSpeakerRole']) {
    expect(actionsOn(grants, role, runsTable), role).toEqual(['dynamodb:GetItem', 'dynamodb:Query']);
    const unnamed = grants.filter(({ Condition }) => Condition['ForAllValues:StringLike'] === undefined);
    expect(actionsOn(unnamed, role, controlTable), role).toEqual([]);
  }
  const onKeys = grants.filter(({ Condition }) => JSON.stringify(Condition).includes('"~key#*"'));
  expect(onKeys.map(({ role, Action }) => [role.replace(/^StepwellFunctions|Role.*/g, ''), Action])).toEqual([
    ['Sockets', ['dynamodb:GetItem']],
    ['Sockets', ['dynamodb:UpdateItem']],
    ['Speaker', ['dynamodb:GetItem']],
    ['FirstKey', ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']],
  ]);
});

test('the sweep alone deletes workflows: in its records, their versions and their names', () => {
  const deleting = grants.filter(isOfDeletions);
  expect(deleting.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, ''))).toEqual(['Sweep', 'Sweep']);
  expect(deleting.map(({ Action, Condition }) => [Action.toSorted(), Condition['ForAllValues:StringLike']])).toEqual([
    [
      ['dynamodb:DeleteItem', 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query', 'dynamodb:UpdateItem'],
      { 'dynamodb:LeadingKeys': ['~deletions', '*#deletion#*'] },
    ],
    [['dynamodb:DeleteItem', 'dynamodb:Query'], { 'dynamodb:LeadingKeys': ['*#workflow#*'] }],
  ]);
  for (const { Resource } of deleting) expect(Resource).toEqual([expect.stringMatching(controlTable)]);
});

test('the API lists runs, and the sweep those of a project', () => {
  const listing = grants.filter(({ Resource }) => Resource.some((resource) => resource.includes('/index/')));
  const indexes = ({ Resource }: (typeof grants)[number]) => Resource.map((resource) => resource.replace(/.*\/index\//, ''));
  expect(listing.map((grant) => [grant.role.replace(/^StepwellFunctions|Role.*/g, ''), indexes(grant)])).toEqual([
    ['Api', ['byProject', 'byState']],
    ['Sweep', ['byProject']],
  ]);
});

test('whoever lists runs reads their items in batches, and nobody else; no batch writes', () => {
  const batching = grants.filter(({ Action }) => Action.some((action) => action.includes('Batch')));
  expect(batching.map(({ role }) => role.replace(/^StepwellFunctions|Role.*/g, ''))).toEqual(['Api', 'Sweep']);
  const batches = batching.flatMap(({ Action }) => Action).filter((action) => action.includes('Batch'));
  expect(batches).toEqual(['dynamodb:BatchGetItem', 'dynamodb:BatchGetItem']);
  for (const { Resource } of batching) expect(Resource).toEqual([expect.stringMatching(runsTable)]);
});

test('the schedule of the sweep may start the sweep and nothing else', () => {
  const sweep = byId(runtime, 'StepwellFunctionsSweepFunction').id;
  const granted = grants.filter(({ role }) => role.startsWith('StepwellSweepScheduleRole'));
  expect(granted).toEqual([expect.objectContaining({ Action: ['lambda:InvokeFunction'], Resource: [`<${sweep}.Arn>`] })]);
});

test('functions are told names and settings of the contract, and no secret', () => {
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

test('with a key of the account, it is used only through the services that store with it', () => {
  const encrypted = grantsIn(synthesize({ encryptionKey: 'own' }).runtime).filter(({ Action }) =>
    Action.some((action) => action.startsWith('kms:')),
  );
  expect(encrypted).toHaveLength(usualFunctions.length + 1);
  for (const { Condition, Resource } of encrypted) {
    expect(Condition).toMatchObject({ StringEquals: { 'kms:ViaService': expect.anything() } });
    expect(Resource).toEqual([expect.stringMatching(/^<Stepwell-Data:ExportsOutput.*Key/)]);
  }
});
