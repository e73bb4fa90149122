/** Takes a batch message by message and reports which of them must come back. */
import type { SQSBatchResponse, SQSRecord } from 'aws-lambda';
import type { Logger } from '@aws-lambda-powertools/logger';

/** It was given to somebody before, who did not delete it. */
export const isRedelivered = (record: SQSRecord): boolean => Number(record.attributes.ApproximateReceiveCount) > 1;

export const failures = (records: readonly SQSRecord[]): SQSBatchResponse => ({
  batchItemFailures: records.map(({ messageId }) => ({ itemIdentifier: messageId })),
});

/** Works on each message; one whose work throws comes back, and says so in the log. */
export async function eachMessage(
  records: readonly SQSRecord[],
  logger: Logger,
  work: (record: SQSRecord) => Promise<void>,
): Promise<SQSBatchResponse> {
  const failed: SQSRecord[] = [];
  for (const record of records) {
    try {
      await work(record);
    } catch (trouble) {
      logger.error('a message comes back', { messageId: record.messageId, error: trouble instanceof Error ? trouble : String(trouble) });
      failed.push(record);
    }
  }
  return failures(failed);
}
