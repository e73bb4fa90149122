/** The function of the triggers: which messages the queue gets back, and what becomes of the others. */
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { expect, test } from 'vitest';
import { handleMessages } from '../../functions/starts/handle-messages.ts';
import { originalIdAttribute, reasonAttribute } from '../../lib/codec/trigger-messages.ts';
import { workflowName } from '../../lib/engine/ids.ts';
import type { DeadLetter } from '../../lib/ports/dead-letters.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { StoredTrigger } from '../../lib/triggers/setting.ts';
import { createTestEnv, scope, workflow } from '../service/test-env.ts';

const arn = 'arn:aws:sqs:eu-west-1:111122223333:orders';
const trigger: StoredTrigger = {
  name: 'orders',
  kind: 'queue',
  queueArn: arn,
  deadLetterUrl: 'https://sqs.example.com/dead',
  ...scope,
  workflowName: workflowName('flow'),
};

const record = (messageId: string, body: string, more: Partial<SQSRecord> = {}): SQSRecord => ({
  messageId,
  receiptHandle: messageId,
  body,
  attributes: { ApproximateReceiveCount: '1', SentTimestamp: '0', SenderId: 's', ApproximateFirstReceiveTimestamp: '0' },
  messageAttributes: {},
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: arn,
  awsRegion: 'eu-west-1',
  ...more,
});

async function functionWith({
  sends = async () => {},
  triggers = [trigger],
}: { sends?: () => Promise<void>; triggers?: readonly StoredTrigger[] } = {}) {
  const env = createTestEnv();
  await env.publish(workflow('flow', 'a>b'));
  const letters: DeadLetter[] = [];
  const lines: { readonly level: string; readonly text: string }[] = [];
  const log =
    (level: string) =>
    (text: unknown, ...facts: readonly unknown[]) =>
      void lines.push({ level, text: JSON.stringify([text, facts]) });
  const tools = {
    decider: env.worker,
    triggers: async () => triggers,
    deadLetters: () => ({
      send: async (letter: DeadLetter) => {
        await sends();
        letters.push(letter);
      },
    }),
    logger: { info: log('info'), warn: log('warn'), error: log('error') },
  };
  const handle = (...Records: readonly SQSRecord[]) => {
    const event: SQSEvent = { Records: [...Records] };
    return handleMessages(tools, event);
  };
  return { env, letters, lines, handle };
}

const failuresOf = (response: Awaited<ReturnType<typeof handleMessages>>) =>
  response.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);

test('a message that can start nothing goes to the dead-letter queue as it came, with the reason and its id', async () => {
  const { handle, letters } = await functionWith();
  const messageAttributes = {
    shop: { dataType: 'String', stringValue: 'berlin' },
    icon: { dataType: 'Binary', binaryValue: 'AAEC' },
  };
  const bad = record('m2', 'no JSON', { messageAttributes });
  expect(failuresOf(await handle(record('m1', '{}'), bad))).toEqual([]);
  expect(letters).toEqual([
    {
      queueUrl: trigger.deadLetterUrl,
      body: 'no JSON',
      attributes: messageAttributes,
      messageId: 'm2',
      reason: 'not_json: the body of the message is not JSON',
    },
  ]);
});

test('a message stays in its queue while the dead-letter queue does not take it', async () => {
  const { handle, lines } = await functionWith({
    sends: async () => {
      throw new Unavailable('a dead-letter queue');
    },
  });
  expect(failuresOf(await handle(record('m1', '{}'), record('m2', 'no')))).toEqual(['m2']);
  expect(lines.filter(({ level }) => level === 'error').map(({ text }) => text)).toEqual([
    expect.stringContaining('dead letter cannot be sent'),
  ]);
});

test('a message that was moved back starts no second run, although SQS gave it a new id', async () => {
  const { handle, lines } = await functionWith();
  await handle(record('m1', '{}'));
  const moved = record('m9', '{}', {
    messageAttributes: {
      [originalIdAttribute]: { dataType: 'String', stringValue: 'm1' },
      [reasonAttribute]: { dataType: 'String', stringValue: 'not_json: …' },
    },
  });
  await handle(moved);
  const started = lines.filter(({ text }) => text.includes('message started a run')).map(({ text }) => text);
  expect(started).toEqual([expect.stringContaining('"deduped":false'), expect.stringContaining('"deduped":true')]);
});

test('attributes of the product are no values of templates', async () => {
  const { handle, letters } = await functionWith({
    triggers: [{ ...trigger, input: { reason: `{{ctx.message.attributes["${reasonAttribute}"]}}` } }],
  });
  await handle(record('m1', '{}', { messageAttributes: { [reasonAttribute]: { dataType: 'String', stringValue: 'x' } } }));
  expect(letters.map(({ reason }) => reason)).toEqual([expect.stringContaining('value_missing')]);
});

test('messages of a queue without a trigger come back', async () => {
  const { handle, lines } = await functionWith({ triggers: [] });
  expect(failuresOf(await handle(record('m1', '{}')))).toEqual(['m1']);
  expect(lines).toEqual([{ level: 'error', text: expect.stringContaining(arn) }]);
});

test('log lines have the trigger, the message and its run, and no value of the message', async () => {
  const { handle, lines } = await functionWith();
  await handle(record('m1', '{"secret":"hidden-value"}'), record('m2', '{"secret":"hidden-value"'));
  expect(lines).toHaveLength(2);
  for (const { text } of lines) {
    expect(text).toContain('"trigger":"orders"');
    expect(text).not.toContain('hidden-value');
  }
});
