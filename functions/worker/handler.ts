/** Executes nodes: handles jobs from the node queue, the delay queue and requests that wait for a run, one at a time. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { isJobCall } from '../../lib/codec/job-calls.ts';
import { parseJob, parseTogether } from '../../lib/codec/jobs.ts';
import { parseFire } from '../../lib/codec/schedules.ts';
import { fireSchedule } from '../../lib/service/schedules/fire-schedule.ts';
import { handleCalledJob, handleJob } from '../../lib/service/execution/handle-job.ts';
import { handleJobsTogether } from '../../lib/service/execution/handle-jobs-together.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { handleJobCall, isDelayed, processEachMessage, isRedelivered, logKeysOf } from '../batch.ts';
import { deciderOf, invocationDeadlineOf, loggerOf } from '../wiring.ts';
import { createRunAttempt } from './wiring.ts';
import { runExecutions } from '../../lib/service/kinds/run-executions.ts';
import type { Delivery, JobHandler } from '../../lib/service/worker.ts';

const logger = loggerOf('worker');
const decider = deciderOf('worker');
const worker: JobHandler = {
  ...decider,
  executions: runExecutions,
  foldCache: new FoldCache(),
  runAttempt: createRunAttempt(decider.deps),
};

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse | object> =>
  isJobCall(event)
    ? handleJobCall(event, logger, (call) => handleCalledJob(worker, call, deliveryOf(context, { isRedelivered: false })))
    : processEachMessage(event, context, logger, (record) => handleRecord(record, context));

async function handleRecord(record: SQSRecord, context: Context): Promise<void> {
  const fire = parseFire(record.body);
  if (fire !== undefined) {
    logger.appendKeys({ scheduleId: fire.scheduleId });
    return fireSchedule(worker, fire);
  }
  const together = parseTogether(record.body);
  if (together !== undefined) {
    const delivery = deliveryOf(context, factsOf(record));
    return handleJobsTogether(worker.deps, together, delivery, (job) => {
      logger.resetKeys();
      logger.appendKeys(logKeysOf(job));
      return handleJob(worker, job, delivery);
    });
  }
  const job = parseJob(record.body);
  logger.appendKeys(logKeysOf(job));
  return handleJob(worker, job, deliveryOf(context, factsOf(record)));
}

const factsOf = (record: SQSRecord) => ({ isRedelivered: isRedelivered(record), isDelayed: isDelayed(record) });

const deliveryOf = (context: Context, facts: Omit<Delivery, 'mustEndAt'>): Delivery => ({
  ...facts,
  mustEndAt: invocationDeadlineOf(context, worker.deps.clock.now()),
});
