/** Worker processes: who consumes the code queue, the processes' permissions and their variables. */
import { App, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Stepwell } from '../../lib/constructs/index.ts';
import { environmentNames } from '../../lib/contract/environment.ts';
import { codeWorkerEnvironment } from '../../lib/contract/worker-program.ts';
import { type Granted, grantsIn } from './statements.ts';
import { type Resource, byId, emptyBundles, newFolder, ofType, pointedAt, resourcesIn, synthesize } from './synthesized.ts';

const codeRole = 'StepwellFunctionsCodeRole';
const takes = (runtime: readonly Resource[]): boolean =>
  ofType(runtime, 'Lambda::EventSourceMapping').some(
    ({ Properties }) => pointedAt(Properties['EventSourceArn']) === byId(runtime, 'StepwellQueuesCodeQueue').id,
  );
const policies = (runtime: readonly Resource[]): readonly Resource[] => ofType(runtime, 'IAM::ManagedPolicy');
/** each action with each resource and condition, independent of how statements are grouped */
const flat = (grants: readonly Granted[]): readonly string[] =>
  grants
    .flatMap(({ Action, Resource, Condition }) =>
      Action.flatMap((action) => Resource.map((resource) => `${action} ${resource} ${JSON.stringify(Condition)}`)),
    )
    .toSorted();
const ofCode = (runtime: readonly Resource[]): readonly string[] =>
  flat(grantsIn(runtime).filter(({ role, Effect }) => Effect === 'Allow' && role.startsWith(codeRole))).filter(
    (each) => !each.startsWith('logs:'),
  );
/** Treats a managed policy as attached. */
const ofPolicy = (runtime: readonly Resource[]): readonly string[] =>
  flat(
    grantsIn(
      policies(runtime).map((each) => ({
        ...each,
        Type: 'AWS::IAM::Policy',
        Properties: { ...each.Properties, Roles: [{ Ref: 'any' }] },
      })),
    ),
  );

const lambda = synthesize();
const worker = synthesize({ codeRunsIn: 'worker' });
const both = synthesize({ codeRunsIn: 'both' });

describe('consumers of the code queue', () => {
  test.each([
    ['the function, where nothing is said', lambda, true, 0],
    ['processes alone', worker, false, 1],
    ['both', both, true, 1],
  ] as const)('%s', (_who, { runtime }, isTaken, managed) => {
    expect([takes(runtime), policies(runtime).length]).toEqual([isTaken, managed]);
    expect(ofCode(runtime).some((grant) => grant.startsWith('sqs:ReceiveMessage'))).toBe(isTaken);
    expect(ofType(runtime, 'Lambda::EventSourceMapping')).toHaveLength(
      ofType(lambda.runtime, 'Lambda::EventSourceMapping').length - (isTaken ? 0 : 1),
    );
  });
  test('only the three values are accepted', () => {
    expect(() => synthesize({ codeRunsIn: 'nowhere' })).toThrow('codeRunsIn');
  });
});

describe('permissions of a worker process', () => {
  const queue = `<${byId(worker.runtime, 'StepwellQueuesCodeQueue').id}.Arn>`;
  const ofTaking = ['ChangeMessageVisibility', 'DeleteMessage', 'GetQueueAttributes', 'ReceiveMessage'].map(
    (action) => `sqs:${action} ${queue} {}`,
  );
  test('are those of the code function, and to receive, extend and delete messages of its queue', () => {
    expect(ofPolicy(worker.runtime)).toEqual([...ofCode(worker.runtime), ...ofTaking].toSorted());
    expect(ofCode(worker.runtime).length).toBeGreaterThan(15);
  });
  test('include the use of the account’s KMS key, as for the function', () => {
    const { runtime } = synthesize({ codeRunsIn: 'worker', encryptionKey: 'own' });
    expect(ofPolicy(runtime)).toEqual([...ofCode(runtime), ...ofTaking].toSorted());
    expect(ofPolicy(runtime).some((grant) => grant.startsWith('kms:Decrypt'))).toBe(true);
  });
  test('fit into a managed policy', () => {
    // Limit: 6,144 characters without whitespace. Real names are slightly longer than the placeholders here.
    const [policy] = policies(worker.runtime);
    expect(JSON.stringify(policy?.Properties['PolicyDocument']).length).toBeLessThan(6_144);
  });
});

test('an application’s role gets the same permissions, and the process the same variables as the function', () => {
  const app = new App({ outdir: newFolder(), builtinCloudFormationValidation: false });
  const stack = new Stack(app, 'Mine');
  const stepwell = new Stepwell(stack, 'Stepwell', { functionsDirectory: emptyBundles(), codeRunsIn: 'worker' });
  const role = new iam.Role(stack, 'TaskRole', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') });
  stepwell.grantWorker(role);
  const { directory } = app.synth();
  const resources = resourcesIn(readFileSync(join(directory, 'Mine.template.json'), 'utf8'));
  const granted = flat(grantsIn(resources).filter((grant) => grant.role.startsWith('TaskRole')));
  const queue = `<${byId(resources, 'StepwellQueuesCodeQueue').id}.Arn>`;
  expect(granted.filter((grant) => !/^sqs:(Receive|Change|Delete|Get)/.test(grant))).toEqual(ofCode(resources));
  expect(granted.filter((grant) => grant.startsWith('sqs:ReceiveMessage'))).toEqual([`sqs:ReceiveMessage ${queue} {}`]);
  const names = codeWorkerEnvironment.map((name) => environmentNames[name]);
  expect(Object.keys(stepwell.workerEnvironment).toSorted()).toEqual(names.toSorted());
});

test('the outputs name the managed policy and the function whose variables a process needs', () => {
  const named = (text: string): readonly string[] =>
    [...text.matchAll(/"(WorkerPolicyArn|CodeFunctionName)": \{/g)].map(([, name = '']) => name);
  expect([named(lambda.text), named(worker.text).toSorted()]).toEqual([[], ['CodeFunctionName', 'WorkerPolicyArn']]);
});
