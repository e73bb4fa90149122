import { expect, test } from 'vitest';
import * as z from 'zod';
import { deadLetterQueues, minConcurrency } from '../../lib/contract/concurrency.ts';
import { type Resource, byId, ofType, pointedAt, stacksWith, synthesize } from './synthesized.ts';

const { runtime } = synthesize();
const queues = ofType(runtime, 'SQS::Queue');

const redrive = z.object({ deadLetterTargetArn: z.unknown().transform(pointedAt), maxReceiveCount: z.number() });
const redriveOf = ({ Properties }: Resource) =>
  Properties['RedrivePolicy'] === undefined ? undefined : redrive.parse(Properties['RedrivePolicy']);
const isDeadLetters = ({ id }: Resource) => queues.some((queue) => redriveOf(queue)?.deadLetterTargetArn === id);

const mapping = z.object({
  EventSourceArn: z.unknown().transform(pointedAt),
  FunctionName: z.unknown().transform(pointedAt),
  BatchSize: z.number(),
  FunctionResponseTypes: z.array(z.string()),
  ScalingConfig: z.object({ MaximumConcurrency: z.number() }),
});
const mappingsIn = (resources: readonly Resource[]) =>
  ofType(resources, 'Lambda::EventSourceMapping').map(({ Properties }) => mapping.parse(Properties));
const mappings = mappingsIn(runtime);

const consumersOf = (queueId: string, all = mappings) => all.filter(({ EventSourceArn }) => EventSourceArn === queueId);

test.each([{}, { workerTimeoutSeconds: 30, codeTimeoutSeconds: 30 }])(
  'every queue gives a message for an hour, and five times, before it gives up: %j',
  (settings) => {
    const { runtime: resources } = synthesize(settings);
    const working = ofType(resources, 'SQS::Queue').flatMap((queue) => {
      const receives = redriveOf(queue)?.maxReceiveCount;
      return receives === undefined ? [] : [{ id: queue.id, receives, seconds: Number(queue.Properties['VisibilityTimeout']) }];
    });
    expect(working).toHaveLength(5);
    for (const { id, receives, seconds } of working) {
      expect(receives, id).toBeGreaterThanOrEqual(5);
      expect(receives * seconds, id).toBeGreaterThanOrEqual(3_600);
      // SQS's maximum.
      expect(receives, id).toBeLessThanOrEqual(1_000);
    }
  },
);

test('every queue has a dead-letter queue of its type with a longer retention', () => {
  const working = queues.filter((queue) => !isDeadLetters(queue));
  expect(working.map(({ id }) => id)).toHaveLength(5);
  for (const queue of working) {
    const target = queues.find(({ id }) => id === redriveOf(queue)?.deadLetterTargetArn);
    expect(target?.Properties['FifoQueue'], queue.id).toBe(queue.Properties['FifoQueue']);
    expect(Number(target?.Properties['MessageRetentionPeriod']), queue.id).toBeGreaterThan(
      Number(queue.Properties['MessageRetentionPeriod']),
    );
  }
});

test('the visibility timeout exceeds the consumer’s timeout', () => {
  for (const settings of [
    {},
    { workerTimeoutSeconds: 30, codeTimeoutSeconds: 900 },
    { workerTimeoutSeconds: 900, codeTimeoutSeconds: 30 },
  ]) {
    const { runtime: resources } = synthesize(settings);
    const pairs = mappingsIn(resources);
    expect(pairs).toHaveLength(7);
    for (const { EventSourceArn, FunctionName } of pairs) {
      const queue = resources.find(({ id }) => id === EventSourceArn);
      const fn = resources.find(({ id }) => id === FunctionName);
      expect(Number(queue?.Properties['VisibilityTimeout']), EventSourceArn).toBeGreaterThan(Number(fn?.Properties['Timeout']));
    }
  }
});

test('FIFO queues order and deduplicate per message group', () => {
  for (const name of ['NodeQueue', 'ResultsQueue', 'CodeQueue', 'WatchQueue']) {
    const id = `StepwellQueues${name}`;
    expect(byId(runtime, id).Properties, id).toMatchObject({
      FifoQueue: true,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
    });
    expect(byId(runtime, id).Properties, id).not.toHaveProperty('ContentBasedDeduplication');
  }
});

test('the delay queue is a standard queue, because FIFO queues support no per-message delay', () => {
  expect(byId(runtime, 'StepwellQueuesDelayQueue').Properties).not.toHaveProperty('FifoQueue');
});

test('the setting nodeQueue uses a standard queue and its dead-letter queue', () => {
  const { runtime: resources } = synthesize({ nodeQueue: 'standard' });
  const node = byId(resources, 'StepwellQueuesNodeQueue');
  expect(node.Properties).not.toHaveProperty('FifoQueue');
  expect(redriveOf(node)?.deadLetterTargetArn).toBe(byId(resources, 'StepwellQueuesStandardDeadLetters').id);
  expect(byId(resources, 'StepwellQueuesResultsQueue').Properties).toMatchObject({ FifoQueue: true });
});

test('every queue is encrypted and refuses requests without TLS', () => {
  expect(queues).toHaveLength(7);
  const guarded = ofType(runtime, 'SQS::QueuePolicy').map(({ Properties }) => Properties);
  for (const { id, Properties } of queues) {
    expect(Properties, id).toMatchObject({ SqsManagedSseEnabled: true });
    expect(guarded, id).toContainEqual(
      expect.objectContaining({
        Queues: [{ Ref: id }],
        PolicyDocument: expect.objectContaining({
          Statement: [expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } })],
        }),
      }),
    );
  }
});

test('the worker and the code function receive one message at a time, the collector ten', () => {
  const worker = byId(runtime, 'StepwellFunctionsWorkerFunction').id;
  const collect = byId(runtime, 'StepwellFunctionsCollectFunction').id;
  const code = byId(runtime, 'StepwellFunctionsCodeFunction').id;
  const facts = (id: string) =>
    consumersOf(byId(runtime, id).id).map(({ FunctionName, BatchSize, ScalingConfig }) => [
      FunctionName,
      BatchSize,
      ScalingConfig.MaximumConcurrency,
    ]);
  expect(facts('StepwellQueuesNodeQueue')).toEqual([[worker, 1, 100]]);
  expect(facts('StepwellQueuesDelayQueue')).toEqual([[worker, 1, 100]]);
  expect(facts('StepwellQueuesResultsQueue')).toEqual([[collect, 10, 10]]);
  expect(facts('StepwellQueuesCodeQueue')).toEqual([[code, 1, 100]]);
  expect(facts('StepwellQueuesWatchQueue')).toEqual([[byId(runtime, 'StepwellFunctionsBroadcasterFunction').id, 1, 50]]);
});

test('every dead-letter queue is consumed', () => {
  const deadLetter = byId(runtime, 'StepwellFunctionsDeadLetterFunction').id;
  const deadLetters = queues.filter(isDeadLetters);
  expect(deadLetters).toHaveLength(deadLetterQueues);
  for (const { id } of deadLetters) expect(consumersOf(id).map(({ FunctionName }) => FunctionName)).toEqual([deadLetter]);
});

test.each([
  ['by default', {}, 364],
  ['with the preset for small accounts', { preset: 'small' }, 14],
  ['where processes run the code', { codeRunsIn: 'worker' }, 264],
])('all queues together may take no more of the account’s concurrency than is documented: %s', (_what, settings, sum) => {
  const asked = mappingsIn(synthesize(settings).runtime).map(({ ScalingConfig }) => ScalingConfig.MaximumConcurrency);
  expect(asked.reduce((total, one) => total + one, 0)).toBe(sum);
  expect(Math.min(...asked)).toBeGreaterThanOrEqual(minConcurrency);
});

test('consumers report partial batch failures', () => {
  for (const { FunctionResponseTypes, EventSourceArn } of mappings) {
    expect(FunctionResponseTypes, EventSourceArn).toEqual(['ReportBatchItemFailures']);
  }
});

const variables = z.object({ Variables: z.record(z.string(), z.unknown()) });
const variablesOf = ({ Environment }: Resource['Properties']) => variables.parse(Environment).Variables;

test('senders of node jobs receive the worker concurrency and the project share', () => {
  const told = (resources: typeof runtime) =>
    ofType(resources, 'Lambda::Function')
      .map(({ Properties }) => variablesOf(Properties))
      .filter((variables) => 'STEPWELL_NODE_QUEUE_URL' in variables)
      .map((variables) => [variables['STEPWELL_NODE_CONCURRENCY'], variables['STEPWELL_MAX_PROJECT_SHARE']]);
  expect(told(runtime).length).toBeGreaterThan(5);
  for (const values of told(runtime)) expect(values).toEqual(['100', '100']);
  for (const values of told(synthesize({ nodeConcurrency: '40', maxProjectShare: '25' }).runtime))
    expect(values).toEqual(['40', '25']);
});

test('a project share requires a queue with message groups', () => {
  const { app } = stacksWith({ nodeQueue: 'standard', maxProjectShare: 50 });
  expect(() => app.synth()).toThrow(/maxProjectShare below 100 requires nodeQueue: fifo/);
});

test('settings limit the concurrency of consumers', () => {
  const { runtime: resources } = synthesize({
    nodeConcurrency: '7',
    resultConcurrency: '3',
    codeConcurrency: '5',
    watchedRuns: '4',
  });
  const limits = (id: string) =>
    consumersOf(byId(resources, id).id, mappingsIn(resources)).map(({ ScalingConfig }) => ScalingConfig.MaximumConcurrency);
  expect(limits('StepwellQueuesNodeQueue')).toEqual([7]);
  expect(limits('StepwellQueuesDelayQueue')).toEqual([7]);
  expect(limits('StepwellQueuesResultsQueue')).toEqual([3]);
  expect(limits('StepwellQueuesCodeQueue')).toEqual([5]);
  expect(limits('StepwellQueuesWatchQueue')).toEqual([4]);
});
