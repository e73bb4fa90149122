/** Runs the code of deployments: takes messages for it, and drives of it, from the code queue, one at a time. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { parseJob } from '../../lib/codec/jobs.ts';
import { eachMessage, isRedelivered, logKeysOf } from '../batch.ts';
import { deciderOfCode, endOf, loggerOf } from '../wiring.ts';
import { type RunsCode, takeCodeJob } from './take.ts';
import { codeOn } from './wiring.ts';

const logger = loggerOf('code');
const decider = deciderOfCode('code');
/** Lambda's own least; only outside of Lambda is the variable not set. */
const leastMemoryMb = 128;
const home = {
  memoryMb: Number(process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] ?? leastMemoryMb),
  // What code prints is its own business: a line of it is never taken for a line of the product's.
  print: (line: object) => logger.info('printed by the code of a deployment', { ...line }),
};
const runner: RunsCode = { ...decider, ...codeOn(decider.deps, home) };

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse> =>
  eachMessage(event, context, logger, (record) => take(record, context));

async function take(record: SQSRecord, context: Context): Promise<void> {
  const job = parseJob(record.body);
  logger.appendKeys(logKeysOf(job));
  const mustEndAt = endOf(context, decider.deps.clock.now());
  await takeCodeJob(runner, job, { isRedelivered: isRedelivered(record), mustEndAt });
}
