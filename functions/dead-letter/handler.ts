/** Takes what nobody could work on, and puts the failure on the record of its run. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { parseMessage } from '../../lib/codec/jobs.ts';
import { failLostNode } from '../../lib/service/fail-lost-node.ts';
import { eachMessage } from '../batch.ts';
import { deciderOf, loggerOf } from '../wiring.ts';

const logger = loggerOf('dead-letter');
const decider = deciderOf('dead-letter');

export const handler = (event: SQSEvent): Promise<SQSBatchResponse> =>
  eachMessage(event.Records, logger, async (record) => {
    logger.warn('a dead letter', { messageId: record.messageId });
    await failLostNode(decider, parseMessage(record.body));
  });
