/** Takes what nobody could work on, and puts the failure on the record of its run. */
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { parseMessage } from '../../lib/codec/jobs.ts';
import { parseFire } from '../../lib/codec/schedules.ts';
import { parseWatch } from '../../lib/codec/watches.ts';
import { failLostFire } from '../../lib/service/fire-schedule.ts';
import { failLostNode } from '../../lib/service/fail-lost-node.ts';
import { replaceTurn } from '../../lib/service/speak-run.ts';
import { eachMessage, logKeysOf } from '../batch.ts';
import { socketsKept, watchesSent } from '../sockets/wiring.ts';
import { deciderOf, hopLimiter, loggerOf } from '../wiring.ts';

const logger = loggerOf('dead-letter');
const decider = deciderOf('dead-letter');

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse> =>
  eachMessage(event, context, logger, async (record) => {
    // Queues share a dead-letter queue: the letter says which one gave it up.
    const letter = { messageId: record.messageId, queue: record.attributes.DeadLetterQueueSourceArn?.split(':').at(-1) };
    const fire = parseFire(record.body);
    if (fire !== undefined) {
      logger.warn('a dead letter', { ...letter, scheduleId: fire.scheduleId });
      return failLostFire(decider.deps, fire);
    }
    const watch = parseWatch(record.body);
    if (watch !== undefined) {
      logger.warn('a dead letter', { ...letter, runId: watch.run.runId });
      return replaceTurn({ ...decider.deps, sockets: socketsKept(), watches: hopLimiter.watches(watchesSent()) }, watch);
    }
    const message = parseMessage(record.body);
    logger.appendKeys(logKeysOf(message));
    logger.warn('a dead letter', letter);
    await failLostNode(decider, message);
  });
