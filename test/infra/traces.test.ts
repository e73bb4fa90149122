/** The setting `traces`: off by default; on, one rule, one queue and one function that may read runs and its own secret. */
import { describe, expect, test } from 'vitest';
import { runStatusChange } from '../../lib/codec/bus-events.ts';
import { runStatuses } from '../../lib/engine/log/head.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { grantsIn } from './statements.ts';
import { byId, ofType, pointedAt, synthesize, withTraces } from './synthesized.ts';

const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:collector-AbCdEf';
const { endpoint } = withTraces.traces;

test('without it nothing is there', () => {
  const { runtime } = synthesize();
  expect([...ofType(runtime, 'Events::Rule'), ...runtime.filter(({ id }) => id.includes('Traces'))]).toEqual([]);
});

describe('with it', () => {
  const { runtime } = synthesize({ traces: JSON.stringify({ endpoint, header: { name: 'authorization', secretArn } }) });
  const queue = byId(runtime, 'StepwellTracesEnded');

  test('the rule matches the end of a run, in the words of the bus', () => {
    const [rule] = ofType(runtime, 'Events::Rule');
    expect(rule?.Properties).toMatchObject({
      State: 'ENABLED',
      EventPattern: {
        source: [runStatusChange.source],
        'detail-type': [runStatusChange.detailType],
        detail: { status: runStatuses.filter((status) => !['pending', 'running'].includes(status)) },
      },
      Targets: [{ Arn: { 'Fn::GetAtt': [queue.id, 'Arn'] } }],
    });
    expect(pointedAt(rule?.Properties['EventBusName'])).toBe(byId(runtime, 'StepwellEventBus').id);
  });

  test('messages expire within an hour, and five functions at once take them', () => {
    expect(queue.Properties).toMatchObject({ MessageRetentionPeriod: 3_600, VisibilityTimeout: 360, SqsManagedSseEnabled: true });
    const mapping = ofType(runtime, 'Lambda::EventSourceMapping').find(
      ({ Properties }) => pointedAt(Properties['EventSourceArn']) === queue.id,
    );
    expect(mapping?.Properties).toMatchObject({
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 5 },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  test('the function may read runs, its queue and the one secret, and is told the name of the secret alone', () => {
    const grants = grantsIn(runtime).filter(({ role }) => role.startsWith('StepwellFunctionsTracesRole'));
    const actions = grants.flatMap(({ Action }) => Action).filter((action) => !action.startsWith('logs:'));
    expect(actions.toSorted()).toEqual([
      'dynamodb:GetItem',
      'dynamodb:Query',
      'secretsmanager:GetSecretValue',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
      'sqs:ReceiveMessage',
    ]);
    expect(grants.find(({ Action }) => Action.includes('secretsmanager:GetSecretValue'))?.Resource).toEqual([secretArn]);
    const variables = JSON.stringify(byId(runtime, 'StepwellFunctionsTracesFunction').Properties['Environment']);
    expect(variables).toContain('STEPWELL_TRACES');
    const others = ofType(runtime, 'Lambda::Function').filter(({ id }) => !id.includes('Traces'));
    expect(JSON.stringify(others)).not.toContain('STEPWELL_TRACES');
  });

  test('the dashboard shows its queue', () => {
    expect(JSON.stringify(ofType(runtime, 'CloudWatch::Dashboard'))).toContain(queue.id);
  });
});

test.each([
  ['an address in the clear', { endpoint: 'http://collector.example.com/v1/traces' }, /must begin with https:/],
  [
    'a credential in the address',
    { endpoint: 'https://user:pass@collector.example.com/v1/traces' },
    /put credentials in header.secretArn/,
  ],
  ['a query', { endpoint: 'https://collector.example.com/v1/traces?key=1' }, /put credentials in header.secretArn/],
  [
    'a secret by a part of its ARN',
    { endpoint, header: { name: 'authorization', secretArn: 'collector' } },
    /must be the whole ARN/,
  ],
  ['a value in place of a secret', { endpoint, header: { name: 'authorization', value: 'Bearer x' } }, /header/],
  ['a part of nothing', { endpoint, samplePercent: 0 }, /samplePercent/],
])('%s is refused', (_what, traces, message) => {
  expect(() => parseSettings({ 'stepwell:traces': traces })).toThrow(message);
});
