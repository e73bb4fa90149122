import { globSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createPrincipals } from '../../lib/local/aws/principals.ts';
import { createFunctions } from '../../lib/local/lambda/functions.ts';
import { readRoles } from '../../lib/local/policy/roles.ts';
import { createRecorder } from '../../lib/local/recorder.ts';
import { loadAssembly } from '../../lib/local/template/assembly.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { functionNames } from '../../lib/contract/environment.ts';
import {
  type Resource,
  byId,
  emptyBundles,
  newFolder,
  ofType,
  pointedAt,
  stacksWith,
  synthesize,
  usualFunctions,
  withAllFunctions,
} from './synthesized.ts';

const { runtime } = synthesize();
const functions = ofType(runtime, 'Lambda::Function');

const written = globSync('functions/*/handler.ts', { cwd: fileURLToPath(new URL('../..', import.meta.url)) }).map((path) =>
  basename(dirname(path)),
);

test('every function that is written is deployed', () => {
  const { runtime: stack } = stacksWith(withAllFunctions);
  const deployed: readonly string[] = [...stack.stepwell.functions.byName.keys()];
  expect(written.filter((name) => !deployed.includes(name))).toEqual([]);
  expect(deployed.toSorted()).toEqual(functionNames.toSorted());
  expect(functions).toHaveLength(usualFunctions.length);
});

test('functions run on Node 24 and ARM', () => {
  for (const { id, Properties } of functions) {
    expect(Properties, id).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'], Handler: 'index.handler' });
  }
});

test('every function logs to a group of its own, for a month', () => {
  const groups = functions.map(({ Properties }) => pointedAt(Object(Properties['LoggingConfig']).LogGroup));
  expect(new Set(groups).size).toBe(usualFunctions.length);
  for (const group of ofType(runtime, 'Logs::LogGroup'))
    expect(group.Properties, group.id).toMatchObject({ RetentionInDays: 30 });
  for (const group of groups) expect(ofType(runtime, 'Logs::LogGroup').map(({ id }) => id)).toContain(group);
});

test('a function has the time that its caller waits, and no more', () => {
  const timeouts = functions.map(({ id, Properties }) => [id.slice(0, -8), Properties['Timeout']]);
  expect(Object.fromEntries(timeouts)).toEqual({
    StepwellFunctionsApiFunction: 29,
    StepwellFunctionsEventsFunction: 900,
    StepwellFunctionsDeploymentsFunction: 29,
    StepwellFunctionsLibraryFunction: 29,
    StepwellFunctionsWorkerFunction: 900,
    StepwellFunctionsCollectFunction: 10,
    StepwellFunctionsSweepFunction: 300,
    StepwellFunctionsTestRunsFunction: 29,
    StepwellFunctionsDeadLetterFunction: 60,
    StepwellFunctionsCodeFunction: 900,
    StepwellFunctionsWebhooksFunction: 29,
    StepwellFunctionsWorldFunction: 29,
    StepwellFunctionsConsoleFunction: 29,
    StepwellFunctionsSocketsFunction: 29,
    StepwellFunctionsBroadcasterFunction: 120,
    StepwellFunctionsFirstKeyFunction: 180,
  });
});

describe('the number of watchers', () => {
  const eventsWith = (settings: Readonly<Record<string, unknown>>) =>
    byId(synthesize(settings).runtime, 'StepwellFunctionsEventsFunction').Properties;
  const told = (value: string) => ({ Environment: { Variables: { STEPWELL_WATCHERS: value } } });

  test('is told to the function that streams, which keeps it, and to no other', () => {
    expect(eventsWith({})).toMatchObject(told('50'));
    expect(eventsWith({ watchers: '7' })).toMatchObject(told('7'));
    expect(eventsWith({ watchers: 'uncapped' })).toMatchObject(told(''));
    expect(functions.filter(({ Properties }) => JSON.stringify(Properties).includes('STEPWELL_WATCHERS'))).toHaveLength(1);
  });

  test('is reserved from the account only where a setting says so', () => {
    expect(functions.filter(({ Properties }) => 'ReservedConcurrentExecutions' in Properties)).toEqual([]);
    expect(eventsWith({ reservesWatchers: true })).toMatchObject({ ReservedConcurrentExecutions: 50 });
    expect(eventsWith({ reservesWatchers: 'true', watchers: 7 })).toMatchObject({ ReservedConcurrentExecutions: 7 });
  });
});

describe('the embedded cloud, as a new account', () => {
  const start = (settings: Readonly<Record<string, unknown>>, accountConcurrency = 10) => {
    const assembly = loadAssembly(stacksWith(settings).app.synth().directory);
    const template = readTemplate(assembly, 'http://127.0.0.1:9');
    const quiet = { of: () => () => {}, close: async () => {} };
    return createFunctions({
      template,
      assembly,
      principals: createPrincipals(readRoles(template)),
      recorder: createRecorder(),
      logs: quiet,
      endpoint: 'http://127.0.0.1:9',
      cache: newFolder(),
      threads: 1,
      accountConcurrency,
      warn: () => {},
    });
  };

  test('takes the template as it is', () => {
    expect(start({}).size).toBe(usualFunctions.length);
  });

  test('refuses a reservation, and an account takes one that leaves 100 to all others', () => {
    expect(() => start({ reservesWatchers: true })).toThrow(/UnreservedConcurrentExecution below its minimum value of \[10\]/);
    expect(() => start({ reservesWatchers: true }, 149)).toThrow(/below its minimum value of \[100\]/);
    expect(start({ reservesWatchers: true }, 150).size).toBe(usualFunctions.length);
  });
});

test('the sweep is started every minute, and a failed start is not repeated', () => {
  const [schedule] = ofType(runtime, 'Scheduler::Schedule');
  const sweep = byId(runtime, 'StepwellFunctionsSweepFunction').id;
  expect(schedule?.Properties).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    GroupName: byId(runtime, 'StepwellTimersGroup').Properties['Name'],
    Target: { Arn: { 'Fn::GetAtt': [sweep, 'Arn'] }, RetryPolicy: { MaximumRetryAttempts: 0 } },
  });
});

test('the asynchronous events of the sweep, and of no other function, are dropped soon and not retried', () => {
  // A custom resource whose event Lambda drops would hang its deployment for an hour.
  expect(ofType(runtime, 'Lambda::EventInvokeConfig').map(({ Properties }) => Properties)).toEqual([
    {
      FunctionName: { Ref: byId(runtime, 'StepwellFunctionsSweepFunction').id },
      Qualifier: '$LATEST',
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    },
  ]);
});

test('what is not bundled is absent, and so is all that belongs to it', () => {
  const { runtime: resources } = synthesize({}, emptyBundles(['api', 'worker']));
  expect(ofType(resources, 'Lambda::Function')).toHaveLength(2);
  expect(ofType(resources, 'Scheduler::Schedule')).toEqual([]);
  expect(ofType(resources, 'Lambda::EventSourceMapping')).toHaveLength(2);
  expect(ofType(resources, 'SQS::Queue')).toHaveLength(7);
  const ofGatewayV2 = (all: typeof resources) => all.filter(({ Type }) => Type.startsWith('AWS::ApiGatewayV2::'));
  // The start API belongs to the api function.
  expect(ofGatewayV2(resources).filter(({ id }) => !id.startsWith('StepwellStartApi'))).toEqual([]);
  const { runtime: without } = synthesize({}, emptyBundles([]));
  expect([ofType(without, 'ApiGateway::RestApi'), ofGatewayV2(without)]).toEqual([[], []]);
});

test('the code’s function has room for what it unpacks, and takes as long as it is told', () => {
  const code = 'StepwellFunctionsCodeFunction';
  expect(byId(runtime, code).Properties).toMatchObject({ EphemeralStorage: { Size: 1024 }, MemorySize: 1024 });
  expect(byId(synthesize({ codeTimeoutSeconds: '120' }).runtime, code).Properties).toMatchObject({ Timeout: 120 });
});

test('whoever may send a message for code is told its queue', () => {
  const told = functions.filter(({ Properties }) =>
    JSON.stringify(Properties['Environment']).includes('STEPWELL_CODE_QUEUE_URL'),
  );
  expect(told.map(({ id }) => id.replace(/^StepwellFunctions|Function[0-9A-F]{8}$/g, ''))).toEqual([
    'Api',
    'Deployments',
    'Worker',
    'Collect',
    'Sweep',
    'DeadLetter',
    'Code',
    'Webhooks',
    'World',
  ]);
});

test('every function that a queue starts may take part in loops, the World that code calls, and no other', () => {
  const consumers = (resources: readonly Resource[]) =>
    ofType(resources, 'Lambda::EventSourceMapping').map(({ Properties }) => pointedAt(Properties['FunctionName']));
  const allowed = (resources: readonly Resource[]) =>
    ofType(resources, 'Lambda::Function').flatMap(({ id, Properties }) => (Properties['RecursiveLoop'] === 'Allow' ? [id] : []));
  const world = 'StepwellFunctionsWorldFunctionDD11456F';
  expect(allowed(runtime)).toHaveLength(6);
  expect(new Set(allowed(runtime))).toEqual(new Set([...consumers(runtime), world]));
  for (const { id, Properties } of functions) {
    if (!allowed(runtime).includes(id)) expect(Properties, id).not.toHaveProperty('RecursiveLoop');
  }
  // Where processes alone run code, no queue starts its function.
  const { runtime: without } = synthesize({ codeRunsIn: 'worker' });
  expect(allowed(without)).toHaveLength(5);
  expect(new Set(allowed(without))).toEqual(new Set([...consumers(without), world]));
});

test('a function without consumesQueues in its shape cannot consume a queue', () => {
  const { runtime: stack } = stacksWith();
  const { functions: deployed, queues } = stack.stepwell;
  const consume = () => deployed.get('api')?.consume('More', queues.nodeJobs, { batchSize: 1, maxConcurrency: 2 });
  expect(consume).toThrow(/Api consumes the queue NodeQueue without consumesQueues in its shape. Set it in/);
});

test('assets carry no source maps', () => {
  const { app } = stacksWith({}, bundlesWithMaps());
  const { directory } = app.synth();
  expect(globSync('asset.*/index.mjs', { cwd: directory })).not.toEqual([]);
  expect(globSync('asset.*/*.map', { cwd: directory })).toEqual([]);
});

function bundlesWithMaps(): string {
  const folder = emptyBundles(['api']);
  writeFileSync(join(folder, 'api', 'index.mjs.map'), '{}');
  return folder;
}
