/** Follows watched runs and posts their updates to WebSocket clients. Handles one message of the watch queue at a time. */
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { allows, watchScopes } from '../../lib/api/auth.ts';
import { parseWatch } from '../../lib/codec/watches.ts';
import type { KeyId } from '../../lib/engine/ids.ts';
import { invariant } from '../../lib/engine/invariant.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { Authenticator } from '../../lib/service/access/authenticator.ts';
import { type BroadcasterDeps, broadcastRun } from '../../lib/service/watching/broadcast-run.ts';
import { processEachMessage } from '../batch.ts';
import { createPosts, createSockets, createWatches } from '../sockets/wiring.ts';
import { deciderOf, invocationDeadlineOf, hopLimiter, loggerOf } from '../wiring.ts';

const logger = loggerOf('broadcaster');
const { log, streams, blobs, clock, ids, keys } = deciderOf('broadcaster').deps;
const authenticator = new Authenticator({ keys, clock });
const deps: BroadcasterDeps = {
  log,
  streams,
  blobs,
  clock,
  ids,
  sockets: createSockets(),
  posts: createPosts(),
  watches: hopLimiter.watches(createWatches()),
};

export const handler = (event: SQSEvent, context: Context): Promise<SQSBatchResponse> =>
  processEachMessage(event, context, logger, async ({ body }) => {
    const watch = parseWatch(body);
    invariant(watch !== undefined, 'the watch queue contains a message of another kind');
    logger.appendKeys({ runId: watch.run.runId });
    await broadcastRun(deps, watch, { isAllowed, mustEndAt: invocationDeadlineOf(context, clock.now()) });
  });

/** If the key store is unavailable, the socket is closed too: its client reconnects and is authenticated again. */
async function isAllowed(keyId: KeyId): Promise<boolean> {
  try {
    const result = await authenticator.recheck(keyId);
    return result.kind === 'authenticated' && watchScopes.every((scope) => allows(result.key.scopes, scope));
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}
