/** What a worker says of its work, in lines of a log. */
import { parseMessage } from '../../lib/codec/jobs.ts';
import type { WorkerLine } from '../../lib/contract/worker-program.ts';
import type { HeldMessage } from '../../lib/ports/work-queue.ts';
import type { WorkNote } from '../../lib/service/work-off-queue.ts';
import { logKeysOf } from '../batch.ts';

/** An outage of hours is a line for its first failure, its second, fourth, eighth …, and not one for each. */
export const isWorthALine = (note: WorkNote): boolean => note.kind !== 'waits' || Number.isInteger(Math.log2(note.failures));

export function lineOf(note: WorkNote): WorkerLine {
  switch (note.kind) {
    case 'begins':
      return { level: 'info', message: 'taking messages for code' };
    case 'waits': {
      const { trouble, delayMs, failures, message } = note;
      const facts = { error: described(trouble), failures, ...(message === undefined ? {} : factsOf(message)) };
      return { level: 'warn', message: `${trouble.message}: again in ${Math.ceil(delayMs / 1_000)} s`, ...facts };
    }
    case 'comes_back':
      return { level: 'error', message: 'a message comes back', error: described(note.trouble), ...factsOf(note.message) };
    case 'slipped':
      return { level: 'warn', message: 'a message may be in other hands too', ...factsOf(note.message) };
    case 'rests':
      return {
        level: 'info',
        message: `no more is taken; ${note.atWork} at work may rest within ${note.drainMs / 1_000} s`,
        atWork: note.atWork,
      };
    case 'left':
      return { level: 'warn', message: 'not at rest in time, and free for other workers', ...factsOf(note.message) };
  }
}

/** The words of an error and of what is behind it. */
export const described = (trouble: unknown): string => {
  if (!(trouble instanceof Error)) return String(trouble);
  const own = `${trouble.name}: ${trouble.message}`;
  return trouble.cause === undefined ? own : `${own} (${described(trouble.cause)})`;
};

function factsOf({ id, body, receives }: HeldMessage): object {
  const of = { messageId: id, receives };
  try {
    return { ...logKeysOf(parseMessage(body)), ...of };
  } catch {
    // What cannot be read is about nothing that is known.
    return of;
  }
}
