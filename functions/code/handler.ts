/** Gives messages to the code of deployments: takes them from the code queue, one at a time. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { parseJob } from '../../lib/codec/jobs.ts';
import { invariant } from '../../lib/engine/invariant.ts';
import { type Deliverer, deliverMessage } from '../../lib/service/deliver-message.ts';
import { eachMessage, isRedelivered, logKeysOf } from '../batch.ts';
import { deciderOf, endOf, loggerOf } from '../wiring.ts';
import { bundlesOn } from './wiring.ts';

const logger = loggerOf('code');
const decider = deciderOf('code');
const deliverer: Deliverer = { ...decider, bundles: bundlesOn(decider.deps, logger) };

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse> =>
  eachMessage(event, context, logger, (record) => take(record, context));

async function take(record: SQSRecord, context: Context): Promise<void> {
  const job = parseJob(record.body);
  logger.appendKeys(logKeysOf(job));
  invariant(job.kind === 'message', `the code queue holds a job of kind ${job.kind}`);
  const mustEndAt = endOf(context, decider.deps.clock.now());
  await deliverMessage(deliverer, job, { isRedelivered: isRedelivered(record), mustEndAt });
}
