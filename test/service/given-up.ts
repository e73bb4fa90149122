/** Messages that reach their dead-letter queue: after deliveries that Lambda throttled, or whose workers died. */
import { nodeKey } from '../../lib/engine/ids.ts';
import { begins, noDeliveries } from '../../lib/engine/log/deliveries.ts';
import { minutes } from '../../lib/engine/time.ts';
import type { Job, ResultMessage } from '../../lib/ports/jobs.ts';
import { failLostNode } from '../../lib/service/fail-lost-node.ts';
import type { House } from './house.ts';

/** The last worker that received the message recorded that it begins, and died. */
export async function giveUpAfterDeath(home: House, message: Extract<Job, { readonly attempt: unknown }>): Promise<void> {
  const { run, attempt } = message;
  const { head } = await home.fold(run);
  const now = home.world.clock.now();
  const node = nodeKey(message);
  const known = (await home.world.log.beats(run)).find((sign) => sign.node === node)?.deliveries ?? noDeliveries;
  const sign = { node, attempt, at: now, resends: 0, deliveries: begins(known, now, 0, 0) };
  await home.world.log.beat(run, sign, head.expiresAt);
  // Longer than a heartbeat counts, and than a message stays invisible.
  home.world.clock.advance(minutes(16));
  await failLostNode(home.worker, message);
}

/** Takes all messages that lie in the queues, and gives each to nobody. @returns how many there were */
export async function throttleAll(home: House): Promise<number> {
  const { jobs } = home.world;
  const delayed = jobs.delayed.splice(0).map(({ job }) => job);
  const messages: readonly (Job | ResultMessage)[] = [
    ...jobs.takeSent(),
    ...jobs.takeMessages(),
    ...delayed,
    ...jobs.results.splice(0),
  ];
  for (const message of messages) await failLostNode(home.worker, message);
  return messages.length;
}
