/** Collects the results of wide fan-outs: groups a batch of up to ten results by run and records each group in one commit. */
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { parseResult } from '../../lib/codec/jobs.ts';
import { traceFields } from '../../lib/engine/trace.ts';
import { byRun, collectResults } from '../../lib/service/execution/collect-results.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { batchFailures, isRedelivered, maxHopsOf } from '../batch.ts';
import { deciderOf, hopLimiter, loggerOf } from '../wiring.ts';

const logger = loggerOf('collect');
const collector = { ...deciderOf('collect'), foldCache: new FoldCache() };

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  const failed: SQSRecord[] = [];
  const received = event.Records.flatMap((record) => {
    try {
      return [{ record, result: parseResult(record.body), isRedelivered: isRedelivered(record) }];
    } catch (error) {
      logger.error('result message cannot be parsed', {
        messageId: record.messageId,
        error: error instanceof Error ? error : String(error),
      });
      failed.push(record);
      return [];
    }
  });
  for (const results of byRun(received)) {
    const runRecords = received.filter(({ result }) => result.run.runId === results.run.runId).map(({ record }) => record);
    try {
      await hopLimiter.handle(maxHopsOf(runRecords), () => collectResults(collector, results));
    } catch (error) {
      const [{ trace } = {}] = results.results;
      logger.error('results of a run failed: SQS redelivers them', {
        runId: results.run.runId,
        ...(trace === undefined ? {} : traceFields(trace)),
        nodeIds: results.results.map(({ nodeId }) => nodeId),
        error: error instanceof Error ? error : String(error),
      });
      // A run is a message group: all its messages are redelivered together, so their order is preserved.
      failed.push(...runRecords);
    }
  }
  return batchFailures(failed);
}
