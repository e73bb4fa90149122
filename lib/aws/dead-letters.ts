/** Dead letters of triggers on SQS queues. */
import { type MessageAttributeValue, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { defined } from '../base/defined.ts';
import { maxMessageAttributes, originalIdAttribute, reasonAttribute } from '../codec/trigger-messages.ts';
import type { DeadLetter, DeadLetters, MessageAttribute } from '../ports/dead-letters.ts';
import { callService } from './call-service.ts';

/** A reason is for people. An attribute counts towards the size of its message. */
const maxReasonLength = 1_024;

export class SqsDeadLetters implements DeadLetters {
  readonly #client: SQSClient;

  constructor(client: SQSClient) {
    this.#client = client;
  }

  async send({ queueUrl, body, attributes, messageId, groupId, reason }: DeadLetter): Promise<void> {
    const { [reasonAttribute]: _reason, [originalIdAttribute]: _id, ...own } = attributes;
    // Without room for the id, a repetition would start a second run. The reason is in the log too.
    const added = {
      [originalIdAttribute]: text(messageId),
      ...(Object.keys(own).length + 2 > maxMessageAttributes ? {} : { [reasonAttribute]: text(reasonText(reason)) }),
    };
    const command = new SendMessageCommand({
      QueueUrl: queueUrl,
      MessageBody: body,
      MessageAttributes: { ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name, valueOf(value)])), ...added },
      ...(groupId === undefined ? {} : { MessageGroupId: groupId, MessageDeduplicationId: messageId }),
    });
    await callService('a dead-letter queue', () => this.#client.send(command));
  }
}

const text = (StringValue: string): MessageAttributeValue => ({ DataType: 'String', StringValue });

/** SQS refuses what XML 1.0 cannot represent: control characters, lone surrogates, U+FFFE and U+FFFF. */
const reasonText = (reason: string): string =>
  reason
    .toWellFormed()
    .replaceAll(/\p{Cc}|[\ufffe\uffff]/gu, '\ufffd')
    .slice(0, maxReasonLength);

const valueOf = ({ dataType, stringValue, binaryValue }: MessageAttribute): MessageAttributeValue =>
  defined({
    DataType: dataType,
    StringValue: stringValue,
    BinaryValue: binaryValue === undefined ? undefined : Buffer.from(binaryValue, 'base64'),
  });
