/** The route about what happened to a run: a page of it, or a stream that goes on. It has a function of its own. */
import { allows } from '../../../lib/api/auth/authorize.ts';
import type { KeyId } from '../../../lib/engine/ids.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { beginFollowing, isAllSeen } from '../../../lib/service/follow-run.ts';
import { listEvents } from '../../../lib/service/list-events.ts';
import { takeSeat, takeStreamSlot } from '../../../lib/service/take-seat.ts';
import { watchRun } from '../../../lib/service/watch-run.ts';
import { type Operations, refuse } from '../operation.ts';
import { formAsked } from '../pipeline/accept.ts';
import { eventStreamHeaders, framesOf } from '../present/event-stream.ts';
import type { Tools } from '../tools.ts';

/** An event id, or 0 for the time before the first. Larger than any log is a cursor too: nothing has come after it yet. */
const eventIdPattern = /^(0|[1-9][0-9]{0,14})$/;

/** A page from another site may read what it has a ticket for; no cookie or key of the browser's own is ever looked at. */
const readableByAnyPage = { 'access-control-allow-origin': '*' } as const;

export const eventOperations = ({ decider: { deps }, authenticator }: Tools): Operations<'events'> => ({
  listRunEvents: async ({ scope, params, query, accept, headers, caller }) => {
    const form = formAsked(accept);
    if (form === undefined) return refuse('not_acceptable');
    const lastEventId = form === 'stream' ? headers['last-event-id'] : undefined;
    const after = largestOf([query.after, query.afterEventId, lastEventId]);
    if (after === undefined) return refuse('cursor_invalid');
    const run = { ...scope, ...params };
    if (form === 'json') {
      const result = await listEvents(deps, run, { after, limit: query.limit });
      if (result.kind === 'not_found') return refuse(result.kind);
      return { status: 200, body: { data: result.events, cursor: String(result.last), hasMore: result.hasMore } };
    }
    const followed = await beginFollowing(deps, run);
    if (followed === undefined) return refuse('not_found');
    const open = query.ticket === undefined ? {} : readableByAnyPage;
    // Told so, a browser does not come back.
    if (isAllSeen(followed, after)) return { status: 204, stream: undefined, headers: open };
    const isAllowed = () => isStillAllowed(authenticator, caller);
    const { reader } = query;
    const hasSeat =
      reader === undefined || caller === undefined ? undefined : await takeSeat(deps, { run, keyId: caller, name: reader });
    // After the seat: a reader that comes back first ends the stream that it left, which holds a slot.
    const freeSlot = await takeStreamSlot(deps);
    const seen = watchRun(deps, followed, after, isAllowed, hasSeat);
    const stream = framesOf(params.runId, finallyDone(seen, freeSlot));
    return { status: 200, stream, headers: { ...eventStreamHeaders, ...open } };
  },
});

async function* finallyDone<One>(all: AsyncIterable<One>, done: () => Promise<void>): AsyncGenerator<One, void, undefined> {
  try {
    yield* all;
  } finally {
    await done();
  }
}

/**
 * A browser that reconnects sends the address it began with and the last id it saw; so the larger one is where it is. An
 * empty header is none.
 */
function largestOf(cursors: readonly (string | undefined)[]): number | undefined {
  const given = cursors.filter((cursor) => cursor !== undefined && cursor !== '');
  if (!given.every((cursor) => eventIdPattern.test(cursor ?? ''))) return undefined;
  return Math.max(0, ...given.map(Number));
}

/** Where that cannot be known, the stream ends too: the reader comes back, and is judged at the door. */
async function isStillAllowed(authenticator: Tools['authenticator'], caller: KeyId | undefined): Promise<boolean> {
  if (caller === undefined) return false;
  try {
    const result = await authenticator.recheck(caller);
    return result.kind === 'authenticated' && allows(result.key.scopes, 'runs:read');
  } catch (trouble) {
    if (trouble instanceof Unavailable) return false;
    throw trouble;
  }
}
