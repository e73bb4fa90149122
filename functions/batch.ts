/** Handles an SQS batch message by message and reports which messages SQS must redeliver. */
import { defined } from '../lib/base/defined.ts';
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Logger } from '@aws-lambda-powertools/logger';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { jobCallAnswer, parseJobCall } from '../lib/codec/job-calls.ts';
import { hopsAttribute, parseHops } from '../lib/codec/jobs.ts';
import { type Hops, hops, noHops } from '../lib/engine/hops.ts';
import type { RunEnd } from '../lib/engine/log/fold.ts';
import { traceFields } from '../lib/engine/trace.ts';
import type { Job, JobCall, ResultMessage } from '../lib/ports/jobs.ts';
import { hopLimiter } from './wiring.ts';

/** Another receive came before this one and did not delete the message. */
export const isRedelivered = (record: SQSRecord): boolean => receivesOf(record) > 1;

/**
 * Whether a message of the worker came from the delay queue, or from a node queue that is standard and may deliver it twice as well. The
 * ARN tells, because a sender cannot set it. It can give a message of a standard queue a message group.
 */
export const isDelayed = ({ eventSourceARN }: SQSRecord): boolean => !eventSourceARN.endsWith('.fifo');

/** This receive included. */
export const receivesOf = (record: SQSRecord): number => Number(record.attributes.ApproximateReceiveCount);

const hopsOf = ({ messageAttributes }: SQSRecord): Hops => parseHops(messageAttributes[hopsAttribute]?.stringValue);

/** The highest hop count of messages that are handled together. */
export const maxHopsOf = (records: readonly SQSRecord[]): Hops => hops(Math.max(0, ...records.map(hopsOf)));

export const batchFailures = (records: readonly SQSRecord[]): SQSBatchResponse => ({
  batchItemFailures: records.map(({ messageId }) => ({ itemIdentifier: messageId })),
});

const processor = new BatchProcessor(EventType.SQS);

/** Fields that identify a message in log lines. */
export const logKeysOf = (message: Job | ResultMessage) =>
  defined({
    runId: message.run.runId,
    nodeId: 'nodeId' in message ? message.nodeId : undefined,
    ...(message.trace === undefined ? {} : traceFields(message.trace)),
  });

/**
 * Handles a job that the API function called this function with. The answer has the end of the run that `handle` returns. It is its first delivery, and there is no other: if the handler throws,
 * the caller learns that the outcome is unknown, and the sweep recovers the run.
 */
export const handleJobCall = async (
  event: unknown,
  logger: Logger,
  handle: (call: JobCall) => Promise<RunEnd | void>,
): Promise<object> => {
  const call = parseJobCall(event);
  logger.appendKeys(logKeysOf(call.job));
  try {
    return jobCallAnswer((await hopLimiter.handle(noHops, () => handle(call))) ?? undefined);
  } finally {
    logger.resetKeys();
  }
};

/** Handles each message. If the handler throws, the error is logged and SQS redelivers the message. Log keys are reset after each message. */
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
        logger.error('message failed: SQS redelivers it', {
          messageId: record.messageId,
          error: error instanceof Error ? error : String(error),
        });
        throw error;
      } finally {
        logger.resetKeys();
      }
    },
    processor,
    // Sequential, because the log keys belong to one message. A batch that fails as a whole is reported like a partial failure: SQS redelivers
    // the messages in both cases.
    { context, throwOnFullBatchFailure: false, processInParallel: false },
  );
