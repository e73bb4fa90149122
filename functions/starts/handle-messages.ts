/** Handles the messages of a trigger: starts their runs, and sends those that can start nothing to the dead-letter queue. */
import type { Logger } from '@aws-lambda-powertools/logger';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { defined } from '../../lib/base/defined.ts';
import { originalIdAttribute, reasonAttribute } from '../../lib/codec/trigger-messages.ts';
import { noHops } from '../../lib/engine/hops.ts';
import { instant } from '../../lib/engine/time.ts';
import type { DeadLetters } from '../../lib/ports/dead-letters.ts';
import type { Decider } from '../../lib/service/decider.ts';
import { type MessageOutcome, type TriggerMessage, startFromMessages } from '../../lib/service/runs/start-from-messages.ts';
import type { StoredTrigger } from '../../lib/triggers/setting.ts';
import { batchFailures, receivesOf } from '../batch.ts';
import { hopLimiter } from '../wiring.ts';

export interface StartTools {
  readonly decider: Decider;
  readonly triggers: () => Promise<readonly StoredTrigger[]>;
  readonly deadLetters: () => DeadLetters;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** @returns the messages that the queue must deliver again */
export async function handleMessages(tools: StartTools, { Records }: SQSEvent): Promise<SQSBatchResponse> {
  const triggers = await tools.triggers();
  const failed: SQSRecord[] = [];
  for (const [queueArn, records] of Map.groupBy(Records, ({ eventSourceARN }) => eventSourceARN)) {
    const trigger = triggers.find((one) => one.queueArn === queueArn);
    if (trigger === undefined) {
      // A deployment adds the queue before each environment of the function has the new setting.
      tools.logger.error('no trigger has this queue: SQS redelivers its messages', { queueArn });
      failed.push(...records);
    } else failed.push(...(await handleAll(tools, trigger, records)));
  }
  return batchFailures(failed);
}

async function handleAll(
  tools: StartTools,
  trigger: StoredTrigger,
  records: readonly SQSRecord[],
): Promise<readonly SQSRecord[]> {
  const messages = records.map(messageOf);
  const outcomes = await hopLimiter.handle(noHops, () => startFromMessages(tools.decider, trigger, messages));
  const areHandled = await Promise.all(
    records.map(async (record, index) => {
      const message = messages[index] ?? messageOf(record);
      return handleOutcome(tools, trigger, { record, message, outcome: outcomes[index] ?? { kind: 'retry' } });
    }),
  );
  return records.filter((_record, index) => areHandled[index] !== true);
}

interface Handled {
  readonly record: SQSRecord;
  readonly message: TriggerMessage;
  readonly outcome: MessageOutcome;
}

/** @returns whether the message can be deleted */
async function handleOutcome({ logger, deadLetters }: StartTools, trigger: StoredTrigger, handled: Handled): Promise<boolean> {
  const { record, message, outcome } = handled;
  const facts = { trigger: trigger.name, messageId: message.id };
  switch (outcome.kind) {
    case 'started':
      logger.info('message started a run', { ...facts, runId: outcome.runId, deduped: outcome.isReplay });
      return true;
    case 'retry':
      logger.warn('message started no run: SQS redelivers it', {
        ...facts,
        receives: message.receives,
        ...(outcome.error === undefined ? {} : { error: errorOf(outcome.error) }),
      });
      return false;
    case 'refused': {
      const reason = `${outcome.code}: ${outcome.message}`;
      try {
        await deadLetters().send(
          defined({
            queueUrl: trigger.deadLetterUrl,
            body: record.body,
            attributes: record.messageAttributes,
            messageId: message.id,
            groupId: message.groupId,
            reason,
          }),
        );
      } catch (error) {
        logger.error('dead letter cannot be sent: SQS redelivers the message', { ...facts, reason, error: errorOf(error) });
        return false;
      }
      logger.warn('message started no run: it is a dead letter', { ...facts, reason });
      return true;
    }
  }
}

const errorOf = (thrown: unknown): Error | string => (thrown instanceof Error ? thrown : String(thrown));

/** Attributes of the product are not for templates. */
const ownAttributes: readonly string[] = [originalIdAttribute, reasonAttribute];

function messageOf(record: SQSRecord): TriggerMessage {
  const { messageId, body, attributes, messageAttributes } = record;
  return defined({
    id: messageAttributes[originalIdAttribute]?.stringValue ?? messageId,
    body,
    sentAt: instant(Number(attributes.SentTimestamp)),
    groupId: attributes.MessageGroupId,
    attributes: Object.fromEntries(
      Object.entries(messageAttributes).flatMap(([name, { stringValue }]) =>
        stringValue === undefined || ownAttributes.includes(name) ? [] : [[name, stringValue]],
      ),
    ),
    receives: receivesOf(record),
  });
}
