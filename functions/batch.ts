/** Takes a batch message by message and reports which of them must come back. */
import { defined } from '../lib/engine/defined.ts';
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Logger } from '@aws-lambda-powertools/logger';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { hopsAttribute, parseHops } from '../lib/codec/jobs.ts';
import { type Hops, hops } from '../lib/engine/hops.ts';
import { traceFields } from '../lib/engine/trace.ts';
import type { Job, ResultMessage } from '../lib/ports/jobs.ts';
import { hopLimiter } from './wiring.ts';

/** It was given to somebody before, who did not delete it. */
export const isRedelivered = (record: SQSRecord): boolean => Number(record.attributes.ApproximateReceiveCount) > 1;

const hopsOf = ({ messageAttributes }: SQSRecord): Hops => parseHops(messageAttributes[hopsAttribute]?.stringValue);

/** Of messages that are handled together: those of the longest chain. */
export const maxHopsOf = (records: readonly SQSRecord[]): Hops => hops(Math.max(0, ...records.map(hopsOf)));

export const batchFailures = (records: readonly SQSRecord[]): SQSBatchResponse => ({
  batchItemFailures: records.map(({ messageId }) => ({ itemIdentifier: messageId })),
});

const processor = new BatchProcessor(EventType.SQS);

/** What log lines say of the message that they are about. */
export const logKeysOf = (message: Job | ResultMessage) =>
  defined({
    runId: message.run.runId,
    nodeId: 'nodeId' in message ? message.nodeId : undefined,
    ...(message.trace === undefined ? {} : traceFields(message.trace)),
  });

/** Works on each message; one whose work throws comes back, and says so in the log. The log's keys are each message's own. */
export const processEachMessage = (
  event: SQSEvent,
  context: Context,
  logger: Logger,
  handleRecord: (record: SQSRecord) => Promise<void>,
): Promise<SQSBatchResponse> =>
  processPartialResponse(
    event,
    async (record: SQSRecord) => {
      try {
        await hopLimiter.handle(hopsOf(record), () => handleRecord(record));
      } catch (error) {
        logger.error('a message comes back', {
          messageId: record.messageId,
          error: error instanceof Error ? error : String(error),
        });
        throw error;
      } finally {
        logger.resetKeys();
      }
    },
    processor,
    // One after the other: the keys of the log are the message's. A batch that fails as a whole is reported like one that fails in part: the messages come back either way.
    { context, throwOnFullBatchFailure: false, processInParallel: false },
  );
