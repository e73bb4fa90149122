/** Consumes the dead-letter queues and fails each message's node in the run log. */
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { parseMessage, parseTogether } from '../../lib/codec/jobs.ts';
import { parseFire } from '../../lib/codec/schedules.ts';
import { parseWatch } from '../../lib/codec/watches.ts';
import { handleFireDeadLetter } from '../../lib/service/schedules/fire-schedule.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import { replaceBroadcaster } from '../../lib/service/watching/broadcast-run.ts';
import { processEachMessage, logKeysOf } from '../batch.ts';
import { createSockets, createWatches } from '../sockets/wiring.ts';
import { deciderOf, hopLimiter, loggerOf } from '../wiring.ts';

const logger = loggerOf('dead-letter');
const decider = deciderOf('dead-letter');

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse> =>
  processEachMessage(event, context, logger, async (record) => {
    // Several queues share a dead-letter queue: the attribute names the source queue.
    const deadLetter = { messageId: record.messageId, queue: record.attributes.DeadLetterQueueSourceArn?.split(':').at(-1) };
    const fire = parseFire(record.body);
    if (fire !== undefined) {
      logger.warn('dead letter received', { ...deadLetter, scheduleId: fire.scheduleId });
      return handleFireDeadLetter(decider.deps, fire);
    }
    const watch = parseWatch(record.body);
    if (watch !== undefined) {
      logger.warn('dead letter received', { ...deadLetter, runId: watch.run.runId });
      // Named one by one: a copy of all ports would create each of them.
      const { clock, ids } = decider.deps;
      return replaceBroadcaster({ clock, ids, sockets: createSockets(), watches: hopLimiter.watches(createWatches()) }, watch);
    }
    const together = parseTogether(record.body);
    if (together !== undefined) {
      logger.warn('dead letter received', { ...deadLetter, runIds: together.jobs.map(({ run }) => run.runId) });
      for (const job of together.jobs) await handleDeadLetter(decider, job);
      return;
    }
    const message = parseMessage(record.body);
    logger.appendKeys(logKeysOf(message));
    logger.warn('dead letter received', deadLetter);
    await handleDeadLetter(decider, message);
  });
