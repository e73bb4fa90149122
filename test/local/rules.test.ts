/** Rules of EventBridge in the embedded cloud: which events reach a queue, and which templates do not start. */
import { describe, expect, test } from 'vitest';
import { deliverEvent, readRules } from '../../lib/local/aws/eventbridge.ts';
import { templateOf } from './stacks.ts';

const queue = { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'ended' } };
const bus = { Type: 'AWS::Events::EventBus', Properties: { Name: 'bus' } };
const policy = {
  Type: 'AWS::SQS::QueuePolicy',
  Properties: {
    Queues: [{ Ref: 'Ended' }],
    PolicyDocument: {
      Statement: [{ Effect: 'Allow', Action: ['sqs:SendMessage'], Principal: { Service: 'events.amazonaws.com' } }],
    },
  },
};
const pattern = { source: ['stepwell.runs'], 'detail-type': ['Run Status Change'], detail: { status: ['completed', 'failed'] } };
const rule = (more: object = {}) => ({
  Type: 'AWS::Events::Rule',
  Properties: {
    EventBusName: { Ref: 'Bus' },
    EventPattern: pattern,
    Targets: [{ Arn: { 'Fn::GetAtt': ['Ended', 'Arn'] }, Id: 'Target0' }],
    ...more,
  },
});
const read = (resources: Parameters<typeof templateOf>[0]) => {
  const template = templateOf(resources);
  return readRules(template, (arn) => template.of('AWS::SQS::Queue').find((one) => one.arn === arn)?.ref);
};
const whole = { Ended: queue, Bus: bus, Policy: policy, Rule: rule() };

const delivered = async (event: object, rules = read(whole)): Promise<readonly unknown[]> => {
  const sent: unknown[] = [];
  const base = {
    bus: 'bus',
    source: 'stepwell.runs',
    detailType: 'Run Status Change',
    detail: { status: 'failed' },
    at: new Date(0),
  };
  await deliverEvent(rules, { send: async (_url, body) => void sent.push(JSON.parse(body)) }, { ...base, ...event });
  return sent;
};

test('a matching event reaches the queue in EventBridge’s envelope', async () => {
  expect(await delivered({})).toEqual([
    expect.objectContaining({
      'detail-type': 'Run Status Change',
      source: 'stepwell.runs',
      detail: { status: 'failed' },
      time: '1970-01-01T00:00:00.000Z',
    }),
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

describe('a template does not start', () => {
  test.each([
    [
      'whose queue does not allow EventBridge to send',
      { Ended: queue, Bus: bus, Rule: rule() },
      /no policy of the queue .* allows EventBridge to send/,
    ],
    [
      'with a pattern of other than plain values',
      { ...whole, Rule: rule({ EventPattern: { source: [{ prefix: 'stepwell' }] } }) },
      /the rule is not valid/,
    ],
    [
      'with a target other than a queue',
      { ...whole, Rule: rule({ Targets: [{ Arn: 'arn:aws:lambda:x', Id: 'a' }] }) },
      /is no queue of a stack/,
    ],
  ])('%s', (_what, resources, message) => {
    expect(() => read(resources)).toThrow(message);
  });
});
