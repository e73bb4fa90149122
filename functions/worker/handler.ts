/** Runs nodes: takes jobs from the node queue and from the queue of delayed jobs, one at a time. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { parseJob } from '../../lib/codec/jobs.ts';
import { parseFire } from '../../lib/codec/schedules.ts';
import { fireSchedule } from '../../lib/service/fire-schedule.ts';
import { takeJob } from '../../lib/service/take-job.ts';
import type { Worker } from '../../lib/service/run-node.ts';
import { WarmFolds } from '../../lib/service/warm-folds.ts';
import { eachMessage, isRedelivered, logKeysOf } from '../batch.ts';
import { deciderOf, endOf, loggerOf } from '../wiring.ts';
import { attemptsOf } from './wiring.ts';

const logger = loggerOf('worker');
const decider = deciderOf('worker');
const worker: Worker = { ...decider, folds: new WarmFolds(), runAttempt: attemptsOf(decider.deps) };

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse> =>
  eachMessage(event, context, logger, (record) => take(record, context));

async function take(record: SQSRecord, context: Context): Promise<void> {
  const fire = parseFire(record.body);
  if (fire !== undefined) {
    logger.appendKeys({ scheduleId: fire.scheduleId });
    return fireSchedule(worker, fire);
  }
  const job = parseJob(record.body);
  logger.appendKeys(logKeysOf(job));
  const delivery = {
    isRedelivered: isRedelivered(record),
    isDelayed: record.attributes.MessageGroupId === undefined,
    mustEndAt: endOf(context, worker.deps.clock.now()),
  };
  return takeJob(worker, job, delivery);
}
