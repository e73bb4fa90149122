/** What a worker says of its work, in lines of a log. */
import { parseMessage } from '../../lib/codec/jobs.ts';
import type { WorkerLogLine } from '../../lib/contract/worker-program.ts';
import type { ReceivedMessage } from '../../lib/ports/work-queue.ts';
import type { ConsumerEvent } from '../../lib/service/execution/consume-queue.ts';
import { logKeysOf } from '../batch.ts';

/** An outage of hours is a line for its first failure, its second, fourth, eighth …, and not one for each. */
export const shouldLog = (event: ConsumerEvent): boolean =>
  event.kind !== 'backing_off' || Number.isInteger(Math.log2(event.failures));

export function toLogLine(event: ConsumerEvent): WorkerLogLine {
  switch (event.kind) {
    case 'started':
      return { level: 'info', message: 'taking messages for code' };
    case 'backing_off': {
      const { error, delayMs, failures, message } = event;
      const fields = { error: describeError(error), failures, ...(message === undefined ? {} : messageFields(message)) };
      return { level: 'warn', message: `${error.message}: again in ${Math.ceil(delayMs / 1_000)} s`, ...fields };
    }
    case 'will_be_redelivered':
      return {
        level: 'error',
        message: 'a message comes back',
        error: describeError(event.error),
        ...messageFields(event.message),
      };
    case 'receipt_expired':
      return { level: 'warn', message: 'a message may be in other hands too', ...messageFields(event.message) };
    case 'draining':
      return {
        level: 'info',
        message: `no more is taken; ${event.atWork} at work may rest within ${event.drainMs / 1_000} s`,
        inFlight: event.atWork,
      };
    case 'abandoned':
      return { level: 'warn', message: 'not at rest in time, and free for other workers', ...messageFields(event.message) };
  }
}

/** The words of an error and of what is behind it. */
export const describeError = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const summary = `${error.name}: ${error.message}`;
  return error.cause === undefined ? summary : `${summary} (${describeError(error.cause)})`;
};

function messageFields({ id, body, receiveCount }: ReceivedMessage): object {
  const deliveryFields = { messageId: id, receives: receiveCount };
  try {
    return { ...logKeysOf(parseMessage(body)), ...deliveryFields };
  } catch {
    // What cannot be read is about nothing that is known.
    return deliveryFields;
  }
}
