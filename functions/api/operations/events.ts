/** The route about what happened to a run: a page of it, or a stream that goes on. It has a function of its own. */
import { allows } from '../../../lib/api/auth/authorize.ts';
import type { KeyId } from '../../../lib/engine/ids.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { beginFollowing, hasSeenAll } from '../../../lib/service/watching/follow-run.ts';
import { listEvents } from '../../../lib/service/runs/list-events.ts';
import { acquireReaderLease, acquireStreamSlot } from '../../../lib/service/watching/acquire-reader-lease.ts';
import { watchRun } from '../../../lib/service/watching/watch-run.ts';
import { type Operations, refuse } from '../operation.ts';
import { negotiateFormat } from '../pipeline/negotiate-format.ts';
import { eventStreamHeaders, framesOf } from '../present/event-stream.ts';
import type { Tools } from '../tools.ts';

/** An event id, or 0 for the time before the first. Larger than any log is a cursor too: nothing has come after it yet. */
const eventIdPattern = /^(0|[1-9][0-9]{0,14})$/;

/** A page from another site may read what it has a ticket for; no cookie or key of the browser's own is ever looked at. */
const anyOriginHeaders = { 'access-control-allow-origin': '*' } as const;

export const eventOperations = ({ decider: { deps }, authenticator }: Tools): Operations<'events'> => ({
  listRunEvents: async ({ scope, params, query, accept, headers, caller }) => {
    const format = negotiateFormat(accept);
    if (format === undefined) return refuse('not_acceptable');
    const lastEventId = format === 'stream' ? headers['last-event-id'] : undefined;
    const after = latestCursor([query.after, query.afterEventId, lastEventId]);
    if (after === undefined) return refuse('cursor_invalid');
    const run = { ...scope, ...params };
    if (format === 'json') {
      const result = await listEvents(deps, run, { after, limit: query.limit });
      if (result.kind === 'not_found') return refuse(result.kind);
      return { status: 200, body: { data: result.events, cursor: String(result.last), hasMore: result.hasMore } };
    }
    const followedRun = await beginFollowing(deps, run);
    if (followedRun === undefined) return refuse('not_found');
    const corsHeaders = query.ticket === undefined ? {} : anyOriginHeaders;
    // Told so, a browser does not come back.
    if (hasSeenAll(followedRun, after)) return { status: 204, stream: undefined, headers: corsHeaders };
    const isAllowed = () => isStillAllowed(authenticator, caller);
    const { reader } = query;
    const hasReaderLease =
      reader === undefined || caller === undefined
        ? undefined
        : await acquireReaderLease(deps, { run, keyId: caller, name: reader });
    // After the seat: a reader that comes back first ends the stream that it left, which holds a slot.
    const releaseStreamSlot = await acquireStreamSlot(deps);
    const updates = watchRun(deps, followedRun, after, isAllowed, hasReaderLease);
    const stream = framesOf(params.runId, withCleanup(updates, releaseStreamSlot));
    return { status: 200, stream, headers: { ...eventStreamHeaders, ...corsHeaders } };
  },
});

async function* withCleanup<Item>(
  items: AsyncIterable<Item>,
  cleanUp: () => Promise<void>,
): AsyncGenerator<Item, void, undefined> {
  try {
    yield* items;
  } finally {
    await cleanUp();
  }
}

/**
 * A browser that reconnects sends the address it began with and the last id it saw; so the larger one is where it is. An
 * empty header is none.
 */
function latestCursor(cursors: readonly (string | undefined)[]): number | undefined {
  const presentCursors = cursors.filter((cursor) => cursor !== undefined && cursor !== '');
  if (!presentCursors.every((cursor) => eventIdPattern.test(cursor ?? ''))) return undefined;
  return Math.max(0, ...presentCursors.map(Number));
}

/** Where that cannot be known, the stream ends too: the reader comes back, and is judged at the door. */
async function isStillAllowed(authenticator: Tools['authenticator'], caller: KeyId | undefined): Promise<boolean> {
  if (caller === undefined) return false;
  try {
    const result = await authenticator.recheck(caller);
    return result.kind === 'authenticated' && allows(result.key.scopes, 'runs:read');
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}
