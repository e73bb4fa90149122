/** Rules of EventBridge in the embedded cloud: which events reach a queue, and which templates do not start. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { BusEvent } from '../../lib/local/events/bus-event.ts';
import { createDelivery, type DeliveryParts } from '../../lib/local/events/delivery.ts';
import { readRules } from '../../lib/local/events/rules.ts';
import { endpoint, templateOf } from './stacks.ts';

const att = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const queue = { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'ended' } };
const fifo = { FifoQueue: true, ContentBasedDeduplication: true };
const fifoQueue = (more: object = {}) => ({
  Type: 'AWS::SQS::Queue',
  Properties: { QueueName: 'ended.fifo', ...fifo, ...more },
});
const bus = { Type: 'AWS::Events::EventBus', Properties: { Name: 'bus' } };

const statement = (more: object = {}, queueId = 'Ended') => ({
  Effect: 'Allow',
  Action: ['sqs:SendMessage', 'sqs:GetQueueUrl'],
  Principal: { Service: 'events.amazonaws.com' },
  Resource: att(queueId),
  Condition: { ArnEquals: { 'aws:SourceArn': att('Rule') } },
  ...more,
});
const policyOf = (queueId: string, ...statements: readonly object[]) => ({
  Type: 'AWS::SQS::QueuePolicy',
  Properties: { Queues: [{ Ref: queueId }], PolicyDocument: { Statement: statements } },
});
const policy = policyOf('Ended', statement());

const pattern = { source: ['stepwell.runs'], 'detail-type': ['Run Status Change'], detail: { status: ['completed', 'failed'] } };
const target = (more: object = {}) => ({ Arn: att('Ended'), Id: 'Target0', ...more });
const rule = (more: object = {}) => ({
  Type: 'AWS::Events::Rule',
  Properties: { EventBusName: { Ref: 'Bus' }, EventPattern: pattern, Targets: [target()], ...more },
});
const read = (resources: Parameters<typeof templateOf>[0]) => readRules(templateOf(resources));
const whole = { Ended: queue, Bus: bus, Policy: policy, Rule: rule() };

const base: BusEvent = {
  id: 'event-1',
  bus: 'bus',
  source: 'stepwell.runs',
  detailType: 'Run Status Change',
  detail: { status: 'failed' },
  resources: ['arn:aws:x'],
  at: new Date(0),
};
const sentBody = z.looseObject({ id: z.string() });
interface Sent {
  readonly url: string;
  readonly body: z.infer<typeof sentBody>;
  readonly groupId: string | undefined;
  readonly attributes: Readonly<Record<string, string>> | undefined;
}

/** Delivers an event; the first `failures` sends fail. */
async function deliver(
  event: Partial<BusEvent>,
  rules = read(whole),
  { failures = 0, ...more }: Partial<DeliveryParts> & { readonly failures?: number } = {},
) {
  const sent: Sent[] = [];
  const warned: string[] = [];
  const waits: number[] = [];
  let left = failures;
  let clock = 0;
  const delivery = createDelivery({
    rules,
    warn: (line) => void warned.push(line),
    now: () => clock,
    sleep: async (ms) => {
      waits.push(ms);
      clock += ms;
    },
    queues: {
      async send(url, body, groupId, attributes) {
        if (left-- > 0) throw new Error('the queue is away');
        sent.push({ url, body: sentBody.parse(JSON.parse(body)), groupId, attributes });
      },
    },
    ...more,
  });
  await delivery.deliver({ ...base, ...event });
  // Retries run in the background, and the stop waits for them: without a signal in `sleep`, all of them.
  await delivery.stop();
  return { sent, warned, waits };
}
const delivered = async (event: Partial<BusEvent>, rules = read(whole)): Promise<readonly unknown[]> =>
  (await deliver(event, rules)).sent.map(({ body }) => body);

test('a matching event reaches the queue in EventBridge’s envelope', async () => {
  expect(await delivered({})).toEqual([
    {
      version: '0',
      id: 'event-1',
      'detail-type': 'Run Status Change',
      source: 'stepwell.runs',
      account: '000000000000',
      time: '1970-01-01T00:00:00Z',
      region: 'us-east-1',
      resources: ['arn:aws:x'],
      detail: { status: 'failed' },
    },
  ]);
});

test.each([
  ['another bus', { bus: 'default' }],
  ['another source', { source: 'stepwell.schedules' }],
  ['another type', { detailType: 'Schedule Failure' }],
  ['another status', { detail: { status: 'running' } }],
  ['no status', { detail: {} }],
])('an event of %s does not reach it', async (_what, event) => {
  expect(await delivered(event)).toEqual([]);
});

test('a disabled rule sends nothing', async () => {
  expect(await delivered({}, read({ ...whole, Rule: rule({ State: 'DISABLED' }) }))).toEqual([]);
});

test('a rule without a bus is one of the default bus', async () => {
  const { EventBusName: _, ...properties } = rule().Properties;
  const rules = read({ ...whole, Rule: { Type: 'AWS::Events::Rule', Properties: properties } });
  expect(await delivered({ bus: 'default' }, rules)).toHaveLength(1);
});

test('a FIFO queue gets the events in the message group of the target', async () => {
  const Rule = rule({ Targets: [target({ SqsParameters: { MessageGroupId: 'orders' } })] });
  const { sent } = await deliver({}, read({ ...whole, Ended: fifoQueue(), Rule }));
  expect(sent).toMatchObject([{ url: `${endpoint}/000000000000/ended.fifo`, groupId: 'orders' }]);
});

describe('delivery', () => {
  const deadLetters = {
    Dead: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'dead' } },
    DeadPolicy: policyOf('Dead', statement({}, 'Dead')),
  };
  const withRetries = (MaximumRetryAttempts: number, more: object = {}) =>
    read({
      ...whole,
      ...deadLetters,
      Rule: rule({
        Targets: [target({ RetryPolicy: { MaximumRetryAttempts }, DeadLetterConfig: { Arn: att('Dead') }, ...more })],
      }),
    });

  test('is retried with a growing delay until it succeeds', async () => {
    const { sent, warned, waits } = await deliver({}, read(whole), { failures: 3 });
    expect(sent.map(({ body }) => body.id)).toEqual(['event-1']);
    expect([waits, warned]).toEqual([[1_000, 2_000, 4_000], []]);
  });

  test('ends after 185 retries by default, and the event is dropped', async () => {
    const { sent, warned, waits } = await deliver({}, read(whole), { failures: Infinity });
    expect([sent.length, waits.length]).toEqual([0, 185]);
    expect(warned).toEqual(['the event event-1 could not be delivered to ended: the queue is away; it is dropped']);
  });

  test('ends after the retries of the target, and the event goes to its dead-letter queue', async () => {
    const { sent, waits } = await deliver({}, withRetries(2), { failures: 3 });
    expect(waits).toHaveLength(2);
    expect(sent).toMatchObject([
      {
        url: `${endpoint}/000000000000/dead`,
        body: { id: 'event-1', detail: { status: 'failed' } },
        attributes: {
          RULE_ARN: 'arn:aws:events:us-east-1:000000000000:rule/bus/App-Rule',
          TARGET_ARN: 'arn:aws:sqs:us-east-1:000000000000:ended',
          ERROR_MESSAGE: 'the queue is away',
          EXHAUSTED_RETRY_CONDITION: 'MaximumRetryAttempts',
          RETRY_ATTEMPTS: '2',
        },
      },
    ]);
  });

  test('ends at the maximum age of an event', async () => {
    const rules = withRetries(185, { RetryPolicy: { MaximumEventAgeInSeconds: 60 } });
    const { sent, waits } = await deliver({}, rules, { failures: 6 });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(sent).toMatchObject([{ attributes: { EXHAUSTED_RETRY_CONDITION: 'MaximumEventAgeInSeconds' } }]);
  });

  test('that is stopped names the events that are lost', async () => {
    const untilStopped = (ms: number, signal: AbortSignal): Promise<unknown> => wait(ms, undefined, { signal });
    const { warned } = await deliver({}, read(whole), { failures: Infinity, sleep: untilStopped });
    expect(warned).toEqual(['the event event-1 was not delivered to ended and is lost: the cloud stops']);
  });

  test('happens twice with the switch, and both copies have the id of the event', async () => {
    const { sent } = await deliver({}, read(whole), { deliversTwice: true });
    expect(sent.map(({ body }) => body.id)).toEqual(['event-1', 'event-1']);
  });
});

describe('a queue policy', () => {
  const starts = (...statements: readonly object[]) => read({ ...whole, Policy: policyOf('Ended', ...statements) });
  const denial = /no policy of the queue .*:ended allows EventBridge to send to it for the rule .*:rule\/bus\/App-Rule/;

  test.each([
    ['of any source', statement({ Condition: undefined })],
    ['of the account', statement({ Condition: { StringEquals: { 'aws:SourceAccount': '000000000000' } } })],
    ['of every principal', statement({ Principal: '*' })],
    ['of all actions', statement({ Action: 'sqs:*' })],
  ])('%s permits the rule', (_what, allowed) => {
    expect(starts(allowed)).toHaveLength(1);
  });

  test.each([
    [
      'for another rule',
      statement({ Condition: { ArnEquals: { 'aws:SourceArn': `arn:aws:events:us-east-1:000000000000:rule/Other` } } }),
    ],
    [
      'for the rule’s name on the default bus',
      statement({ Condition: { ArnEquals: { 'aws:SourceArn': 'arn:aws:events:us-east-1:000000000000:rule/App-Rule' } } }),
    ],
    ['for another account', statement({ Condition: { StringEquals: { 'aws:SourceAccount': '111111111111' } } })],
    ['for another service', statement({ Principal: { Service: 'sns.amazonaws.com' } })],
    ['for another action', statement({ Action: 'sqs:ReceiveMessage' })],
    ['for another queue', statement({ Resource: 'arn:aws:sqs:us-east-1:000000000000:other' })],
  ])('%s does not permit it', (_what, allowed) => {
    expect(() => starts(allowed)).toThrow(denial);
  });

  test('that denies the rule wins over one that permits it', () => {
    expect(() => starts(statement(), statement({ Effect: 'Deny', Principal: '*', Condition: undefined }))).toThrow(denial);
  });

  test('that denies requests without TLS does not concern EventBridge', () => {
    const withoutTls = { Bool: { 'aws:SecureTransport': 'false' } };
    expect(starts(statement(), statement({ Effect: 'Deny', Principal: { AWS: '*' }, Condition: withoutTls }))).toHaveLength(1);
  });
});

describe('a template does not start', () => {
  const withTarget = (more: object) => ({ ...whole, Rule: rule({ Targets: [target(more)] }) });
  const withObjects = (name: string) => ({
    ...whole,
    Files: { Type: 'AWS::S3::Bucket', Properties: { BucketName: 'files' } },
    Rule: rule({ EventPattern: { source: ['aws.s3'], detail: { bucket: { name: [name] } } } }),
  });

  test.each([
    [
      'whose queue has no policy',
      { Ended: queue, Bus: bus, Rule: rule() },
      'Rule: no policy of the queue arn:aws:sqs:us-east-1:000000000000:ended allows EventBridge to send',
    ],
    [
      'with a pattern that EventBridge refuses',
      { ...whole, Rule: rule({ EventPattern: { source: [{ contains: 'stepwell' }] } }) },
      'Rule: Event pattern is not valid. Reason: source: Unrecognized match type contains',
    ],
    ['with a rule without a pattern', { ...whole, Rule: rule({ EventPattern: undefined }) }, 'Rule: Event pattern is not valid'],
    [
      'with a rule on a schedule',
      { ...whole, Rule: rule({ ScheduleExpression: 'rate(1 minute)' }) },
      'not implemented by the embedded cloud: ✖ Unrecognized key: "ScheduleExpression"',
    ],
    ['with a target other than a queue', withTarget({ Arn: 'arn:aws:lambda:x' }), 'is no queue; the embedded cloud delivers'],
    [
      'with six targets',
      { ...whole, Rule: rule({ Targets: Array.from({ length: 6 }, () => target()) }) },
      'the rule is not valid',
    ],
    ['with an input', withTarget({ Input: '{}' }), 'the target Target0 has Input, which the embedded cloud does not implement'],
    ['with an input path', withTarget({ InputPath: '$.detail' }), 'has InputPath, which the embedded cloud'],
    ['with an input transformer', withTarget({ InputTransformer: { InputTemplate: '{}' } }), 'has InputTransformer, which the'],
    [
      'with a FIFO queue without a message group',
      { ...whole, Ended: fifoQueue() },
      'Parameter(s) SqsParameters must be specified for target: Target0',
    ],
    [
      'with a FIFO queue without content-based deduplication',
      { ...withTarget({ SqsParameters: { MessageGroupId: 'g' } }), Ended: fifoQueue({ ContentBasedDeduplication: false }) },
      'needs ContentBasedDeduplication',
    ],
    ['with 186 retries', withTarget({ RetryPolicy: { MaximumRetryAttempts: 186 } }), 'the rule is not valid'],
    [
      'with a dead-letter queue without a policy',
      {
        ...withTarget({ DeadLetterConfig: { Arn: att('Dead') } }),
        Dead: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'dead' } },
      },
      'no policy of the queue arn:aws:sqs:us-east-1:000000000000:dead allows EventBridge',
    ],
    [
      'with a FIFO dead-letter queue',
      {
        ...withTarget({ DeadLetterConfig: { Arn: att('Dead') } }),
        Dead: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'dead.fifo', ...fifo } },
        DeadPolicy: policyOf('Dead', statement({}, 'Dead')),
      },
      'the dead-letter queue of the target Target0 must be a standard queue',
    ],
    [
      'with a queue in no stack',
      withTarget({ Arn: 'arn:aws:sqs:eu-west-1:111111111111:orders' }),
      'the target arn:aws:sqs:eu-west-1:111111111111:orders is in no stack of the embedded cloud, and App/Rule refers to it: pass the setting that names it (such as stepwell:triggers) to cdk deploy',
    ],
    [
      'with a bus in no stack',
      { ...whole, Rule: rule({ EventBusName: 'orders' }) },
      'the event bus orders is in no stack of the embedded cloud',
    ],
    ['with the objects of a bucket in no stack', withObjects('orders'), 'the bucket orders is in no stack of the embedded cloud'],
  ])('%s', (_what, resources, message) => {
    expect(() => read(resources)).toThrow(message);
  });

  test('and its error names the path of the construct in the app', () => {
    const Rule = { ...rule({ EventBusName: 'orders' }), Metadata: { 'aws:cdk:path': 'App/Triggers/orders/Rule/Resource' } };
    expect(() => read({ ...whole, Rule })).toThrow('and App/Triggers/orders/Rule refers to it');
  });

  test('except for the objects of its own bucket', () => {
    expect(read(withObjects('files'))).toHaveLength(1);
  });
});
