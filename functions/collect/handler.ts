/** Takes the results of many siblings together: ten at a time, parted by run, each run's decided in one commit. */
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { parseResult } from '../../lib/codec/jobs.ts';
import { traceFacts } from '../../lib/engine/trace.ts';
import { byRun, collectResults } from '../../lib/service/collect-results.ts';
import { WarmFolds } from '../../lib/service/warm-folds.ts';
import { failures, isRedelivered, mostHopsOf } from '../batch.ts';
import { deciderOf, hopLimiter, loggerOf } from '../wiring.ts';

const logger = loggerOf('collect');
const collector = { ...deciderOf('collect'), folds: new WarmFolds() };

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  const failed: SQSRecord[] = [];
  const received = event.Records.flatMap((record) => {
    try {
      return [{ record, result: parseResult(record.body), isRedelivered: isRedelivered(record) }];
    } catch (trouble) {
      logger.error('a result cannot be read', {
        messageId: record.messageId,
        error: trouble instanceof Error ? trouble : String(trouble),
      });
      failed.push(record);
      return [];
    }
  });
  for (const results of byRun(received)) {
    const own = received.filter(({ result }) => result.run.runId === results.run.runId).map(({ record }) => record);
    try {
      await hopLimiter.handle(mostHopsOf(own), () => collectResults(collector, results));
    } catch (trouble) {
      const [{ trace } = {}] = results.results;
      logger.error('the results of a run come back', {
        runId: results.run.runId,
        ...(trace === undefined ? {} : traceFacts(trace)),
        nodeIds: results.results.map(({ nodeId }) => nodeId),
        error: trouble instanceof Error ? trouble : String(trouble),
      });
      // A run is a group: all its messages return together, so their order holds.
      failed.push(...own);
    }
  }
  return failures(failed);
}
