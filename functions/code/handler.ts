/** Runs deployed code: handles messages and workflow tasks from the code queue and from requests that wait for a run, one at a time. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { isJobCall } from '../../lib/codec/job-calls.ts';
import { parseJob } from '../../lib/codec/jobs.ts';
import type { Instant } from '../../lib/engine/time.ts';
import { handleJobCall, processEachMessage, isRedelivered, logKeysOf, receivesOf } from '../batch.ts';
import { invocationDeadlineOf } from '../wiring.ts';
import { codeDeciderOf, loggerOf } from './decider-wiring.ts';
import { createRunner } from './create-runner.ts';
import { handleCodeJob } from './handle-code-job.ts';
import { handleWebhookCall, isWebhookCall } from './handle-webhook.ts';

const logger = loggerOf('code');
const decider = codeDeciderOf('code');
/** Lambda's minimum. Outside Lambda the variable is not set. */
const minMemoryMb = 128;
const hostOptions = {
  memoryMb: Number(process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] ?? minMemoryMb),
  // Output of deployed code is logged under a fixed message, so that it cannot imitate a log line of the product.
  print: (line: object) => logger.info('output of deployed code', { ...line }),
};
const runner = createRunner(decider, logger, hostOptions);

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse | object> =>
  isWebhookCall(event)
    ? handleWebhookCall(runner, event, context)
    : isJobCall(event)
      ? handleJobCall(event, logger, ({ job }) =>
          handleCodeJob(runner, job, { isRedelivered: false, mustEndAt: mustEndAt(context) }),
        )
      : processEachMessage(event, context, logger, (record) => handleRecord(record, context));

async function handleRecord(record: SQSRecord, context: Context): Promise<void> {
  const job = parseJob(record.body);
  logger.appendKeys(logKeysOf(job));
  await handleCodeJob(runner, job, {
    isRedelivered: isRedelivered(record),
    receives: receivesOf(record),
    mustEndAt: mustEndAt(context),
  });
}

const mustEndAt = (context: Context): Instant => invocationDeadlineOf(context, decider.deps.clock.now());
