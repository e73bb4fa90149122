/** Rules and notifications as the CDK writes them: the embedded cloud accepts what the CDK's constructs deploy. */
import { App, Duration, Stack } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { expect, test } from 'vitest';
import { readNotifyingBuckets } from '../../lib/local/events/object-events.ts';
import { readRules } from '../../lib/local/events/rules.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { endpoint, stacksOf } from './stacks.ts';

const synthesized = (build: (stack: Stack) => void) => {
  const app = new App();
  build(new Stack(app, 'App'));
  return readTemplate(stacksOf({ App: app.synth().getStackByName('App').template }), endpoint);
};
const eventPattern: events.EventPattern = { source: ['orders'], detail: { total: events.Match.greaterThan(100) } };

test.each([
  ['the default bus', () => undefined],
  ['a bus of the stack', (stack: Stack) => new events.EventBus(stack, 'Bus')],
])('a rule on %s with a queue, its dead-letter queue and its retry policy', (_what, busOf) => {
  const template = synthesized((stack) => {
    const eventBus = busOf(stack);
    const rule = new events.Rule(stack, 'Rule', { eventPattern, ...(eventBus === undefined ? {} : { eventBus }) });
    const queue = new sqs.Queue(stack, 'Queue', { enforceSSL: true });
    const deadLetterQueue = new sqs.Queue(stack, 'Dead', { enforceSSL: true });
    rule.addTarget(new targets.SqsQueue(queue, { deadLetterQueue, retryAttempts: 3, maxEventAge: Duration.minutes(5) }));
  });
  const [rule] = readRules(template);
  expect(rule?.targets).toMatchObject([{ retries: 3, maxAgeMs: 300_000, deadLetterUrl: expect.stringContaining('Dead') }]);
  expect(rule?.matches({ source: 'orders', detail: { total: 101 } })).toBe(true);
  expect(rule?.matches({ source: 'orders', detail: { total: 100 } })).toBe(false);
});

test('a rule with a FIFO queue', () => {
  const template = synthesized((stack) => {
    const queue = new sqs.Queue(stack, 'Queue', { fifo: true, contentBasedDeduplication: true });
    new events.Rule(stack, 'Rule', { eventPattern }).addTarget(new targets.SqsQueue(queue, { messageGroupId: 'orders' }));
  });
  expect(readRules(template)[0]?.targets).toMatchObject([{ messageGroupId: 'orders' }]);
});

test('a rule with a part of the event as input does not start', () => {
  const template = synthesized((stack) => {
    const message = events.RuleTargetInput.fromEventPath('$.detail');
    const target = new targets.SqsQueue(new sqs.Queue(stack, 'Queue'), { message });
    new events.Rule(stack, 'Rule', { eventPattern }).addTarget(target);
  });
  expect(() => readRules(template)).toThrow('has InputPath, which the embedded cloud does not implement');
});

test('the notifications of a bucket', () => {
  const template = synthesized((stack) => {
    new s3.Bucket(stack, 'Files', { bucketName: 'files', eventBridgeEnabled: true });
    new s3.Bucket(stack, 'Silent', { bucketName: 'silent' });
  });
  expect([...readNotifyingBuckets(template)]).toEqual(['files']);
  expect(template.of('AWS::Lambda::Function')).toEqual([]);
});
