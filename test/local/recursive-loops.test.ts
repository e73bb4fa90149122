/** Recursive loop detection in the embedded cloud, with functions that send by the AWS SDK. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startCloud, type Cloud } from '../../lib/local/cloud.ts';
import { allow, assemblyOf, freshFolder, functionOf } from './stacks.ts';

/** Sends itself one message after another, `left` of them, alone or in batches. */
const sources = {
  hopper: `
    import { SQSClient, SendMessageBatchCommand, SendMessageCommand } from '${import.meta.resolve('@aws-sdk/client-sqs')}';
    const client = new SQSClient({});
    export const handler = async (event) => {
      const { left, inBatches } = event.Records === undefined ? event : JSON.parse(event.Records[0].body);
      if (left === 0) return;
      const MessageBody = JSON.stringify({ left: left - 1, inBatches });
      const QueueUrl = process.env.QUEUE;
      await client.send(inBatches ? new SendMessageBatchCommand({ QueueUrl, Entries: [{ Id: '1', MessageBody }] }) : new SendMessageCommand({ QueueUrl, MessageBody }));
    };`,
};

const queue = { 'Fn::GetAtt': ['Queue', 'Arn'] };
const resources = (redrive: object, hopper: object) => ({
  DeadLetters: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'dead' } },
  Queue: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'hops', VisibilityTimeout: 900, ...redrive } },
  ...functionOf(
    'hopper',
    'hopper',
    [allow(['sqs:SendMessage', 'sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], queue)],
    { Timeout: 20, Environment: { Variables: { QUEUE: { Ref: 'Queue' } } }, ...hopper },
  ),
  Mapping: {
    Type: 'AWS::Lambda::EventSourceMapping',
    Properties: { EventSourceArn: queue, FunctionName: { Ref: 'hopper' }, BatchSize: 1 },
  },
});
const redrive = {
  RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['DeadLetters', 'Arn'] }, maxReceiveCount: 5 },
};

const timeoutOptions = { timeout: 30_000 };
const running: Cloud[] = [];
afterEach(async () => {
  for (const cloud of running.splice(0)) await cloud.stop();
});

/** Starts a chain of invocations, and waits for its end. */
async function chain(event: object, hopper: object = {}, ofQueue: object = redrive) {
  const warned: string[] = [];
  let invocations = 0;
  const cloud = await startCloud({
    directory: freshFolder(),
    port: 0,
    threads: 1,
    assembly: Promise.resolve(assemblyOf({ App: { Resources: resources(ofQueue, hopper) } }, sources)),
    warn: (line) => void warned.push(line),
    onEmulatorExit: (why) => void warned.push(why),
  });
  running.push(cloud);
  cloud.recorder.listen(({ operation }) => void (invocations += operation === 'Invocation' ? 1 : 0));
  await cloud.functions.get('hopper')?.invoke(JSON.stringify(event));
  const { fauxqs } = cloud.emulators;
  await vi.waitFor(() => expect(fauxqs.depth('hops')).toEqual({ ready: 0, delayed: 0, inFlight: 0 }), {
    ...timeoutOptions,
    interval: 100,
  });
  return { invocations, dead: fauxqs.depth('dead').ready, warned };
}

const recursionError =
  'hopper: this would be invocation 17 in one chain of requests, and RecursiveLoop of the function is Terminate';

describe('a function that sends to its own queue', timeoutOptions, () => {
  test.each([false, true])(
    'is invoked 16 times in a chain; then its message is a dead letter (in batches: %s)',
    async (inBatches) => {
      const { warned, ...seen } = await chain({ left: 30, inBatches });
      expect(seen).toEqual({ invocations: 16, dead: 1 });
      expect(warned).toEqual([expect.stringMatching(/^hops: message [0-9a-f-]+ goes to the dead-letter queue\. /)]);
      expect(warned[0]).toContain(recursionError);
    },
  );

  test('loses its message where the queue has no dead-letter queue', async () => {
    const { warned, ...seen } = await chain({ left: 30 }, {}, {});
    expect(seen).toEqual({ invocations: 16, dead: 0 });
    expect(warned).toEqual([expect.stringContaining('is dropped: the queue has no dead-letter queue')]);
  });

  test('with RecursiveLoop Allow is invoked to the end', async () => {
    expect(await chain({ left: 30 }, { RecursiveLoop: 'Allow' })).toEqual({ invocations: 31, dead: 0, warned: [] });
  });

  test('with an unknown RecursiveLoop stops the start', async () => {
    await expect(chain({ left: 0 }, { RecursiveLoop: 'Maybe' })).rejects.toThrow(
      /hopper: the function is not valid.*[\s\S]*RecursiveLoop/,
    );
  });
});
