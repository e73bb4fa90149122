/** Moves messages to their dead-letter queue: after throttled deliveries, or after crashes of their workers. */
import { nodeKey } from '../../lib/engine/ids.ts';
import { beginDelivery, noDeliveries } from '../../lib/engine/log/deliveries.ts';
import { minutes } from '../../lib/engine/time.ts';
import type { Job, ResultMessage } from '../../lib/ports/jobs.ts';
import { handleDeadLetter } from '../../lib/service/execution/handle-dead-letter.ts';
import type { TestEnv } from './test-env.ts';

/** The last worker that received the message recorded its start and crashed. */
export async function deadLetterAfterCrash(env: TestEnv, message: Extract<Job, { readonly nodeId: unknown }>): Promise<void> {
  const { run, attempt } = message;
  const { head } = await env.fold(run);
  const now = env.ports.clock.now();
  const node = nodeKey(message);
  const known = (await env.ports.log.heartbeats(run)).find((heartbeat) => heartbeat.node === node)?.deliveries ?? noDeliveries;
  const heartbeat = { node, attempt, at: now, resends: 0, deliveries: beginDelivery(known, now, 0, 0) };
  await env.ports.log.heartbeat(run, heartbeat, head.expiresAt);
  // Longer than the heartbeat timeout and the visibility timeout.
  env.ports.clock.advance(minutes(16));
  await handleDeadLetter(env.worker, message);
}

/** Receives all messages in the queues, and delivers none of them. @returns their number */
export async function deadLetterAll(env: TestEnv): Promise<number> {
  const { jobs } = env.ports;
  const delayed = jobs.delayed.splice(0).map(({ job }) => job);
  const messages: readonly (Job | ResultMessage)[] = [
    ...jobs.takeSent(),
    ...jobs.takeMessages(),
    ...jobs.takeDevKitMessages(),
    ...delayed,
    ...jobs.results.splice(0),
  ];
  for (const message of messages) await handleDeadLetter(env.worker, message);
  return messages.length;
}
