/** Messages that reach their dead-letter queue: after deliveries that Lambda throttled, or whose workers died. */
import { nodeKey } from '../../lib/engine/ids.ts';
import { beginDelivery, noDeliveries } from '../../lib/engine/log/deliveries.ts';
import { minutes } from '../../lib/engine/time.ts';
import type { Job, ResultMessage } from '../../lib/ports/jobs.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import type { TestEnv } from './test-env.ts';

/** The last worker that received the message recorded that it begins, and died. */
export async function deadLetterAfterCrash(home: TestEnv, message: Extract<Job, { readonly attempt: unknown }>): Promise<void> {
  const { run, attempt } = message;
  const { head } = await home.fold(run);
  const now = home.ports.clock.now();
  const node = nodeKey(message);
  const known = (await home.ports.log.heartbeats(run)).find((sign) => sign.node === node)?.deliveries ?? noDeliveries;
  const sign = { node, attempt, at: now, resends: 0, deliveries: beginDelivery(known, now, 0, 0) };
  await home.ports.log.heartbeat(run, sign, head.expiresAt);
  // Longer than a heartbeat counts, and than a message stays invisible.
  home.ports.clock.advance(minutes(16));
  await handleDeadLetter(home.worker, message);
}

/** Takes all messages that lie in the queues, and gives each to nobody. @returns how many there were */
export async function deadLetterAll(home: TestEnv): Promise<number> {
  const { jobs } = home.ports;
  const delayed = jobs.delayed.splice(0).map(({ job }) => job);
  const messages: readonly (Job | ResultMessage)[] = [
    ...jobs.takeSent(),
    ...jobs.takeMessages(),
    ...delayed,
    ...jobs.results.splice(0),
  ];
  for (const message of messages) await handleDeadLetter(home.worker, message);
  return messages.length;
}
