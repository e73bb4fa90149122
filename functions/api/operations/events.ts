/** The events of a run: a page of events as JSON, or a stream of server-sent events that follows the run. */
import { allows } from '../../../lib/api/auth.ts';
import { withoutPayload } from '../../../lib/api/payloads.ts';
import { runRoutes } from '../../../lib/api/run-routes.ts';
import { isExternalRunId } from '../../../lib/engine/external/run.ts';
import { derivedEventNames, heartbeatEventName } from '../../../lib/engine/log/event-names.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { WatchedRun } from '../../../lib/ports/watching.ts';
import type { Deps } from '../../../lib/service/deps.ts';
import {
  beginFollowingExternal,
  followExternalRun,
  hasSeenAllExternal,
  listExternalEvents,
} from '../../../lib/service/runs/external-runs.ts';
import { listEvents } from '../../../lib/service/runs/list-events.ts';
import { isStillAllowed } from '../pipeline/recheck-caller.ts';
import { acquireReaderLease, acquireStreamSlot } from '../../../lib/service/watching/acquire-reader-lease.ts';
import { beginFollowing, followRun, hasSeenAll } from '../../../lib/service/watching/follow-run.ts';
import { type StreamUpdate, watchRun } from '../../../lib/service/watching/watch-run.ts';
import { type Operations, type Served, refuse } from '../operation.ts';

/** An event id, or 0 for the start of the log. An id beyond the end of the log is valid: no event follows it yet. */
const eventIdPattern = /^(0|[1-9][0-9]{0,14})$/;

/** A page of any origin may read a stream for which it has a ticket. With this header, browsers withhold responses to requests with cookies. */
const anyOriginHeaders = { 'access-control-allow-origin': '*' } as const;

const eventOperations: Operations<'events'> = {
  async listRunEvents({ decider: { deps }, authenticator }, { scope, params, query, accept, headers, caller, session, scopes }) {
    const format = negotiateFormat(accept);
    if (format === undefined) return refuse('not_acceptable');
    const lastEventId = format === 'stream' ? headers['last-event-id'] : undefined;
    const after = latestCursor([query.after, query.afterEventId, lastEventId]);
    if (after === undefined) return refuse('cursor_invalid');
    const { runId } = params;
    if (format === 'json') {
      const page = { after, limit: query.limit };
      const result = isExternalRunId(runId)
        ? await listExternalEvents(deps, scope, runId, page)
        : await listEvents(deps, { ...scope, runId }, page);
      if (result.kind === 'not_found') return refuse(result.kind);
      return { status: 200, body: { data: result.events, cursor: String(result.last), hasMore: result.hasMore } };
    }
    const followedRun = await follow(deps, { ...scope, runId }, after);
    if (followedRun === undefined) return refuse('not_found');
    const corsHeaders = query.ticket === undefined ? {} : anyOriginHeaders;
    // Status 204 stops an EventSource from reconnecting.
    if (followedRun.hasSeenAll) return { status: 204, stream: undefined, headers: corsHeaders };
    const required = ['runs:read' as const, 'payloads:read' as const].filter((one) => allows(scopes, one));
    const isAllowed = () => isStillAllowed(deps, authenticator, caller, session, required);
    const { reader } = query;
    const hasReaderLease =
      reader === undefined || caller === undefined
        ? undefined
        : await acquireReaderLease(deps, { run: { ...scope, runId }, keyId: caller, name: reader });
    // After the reader lease: a reader that reconnects first ends its abandoned stream, which holds a slot.
    const releaseStreamSlot = await acquireStreamSlot(deps);
    const updates = watchRun(deps, followedRun.updates(), isAllowed, hasReaderLease);
    const shown = allows(scopes, 'payloads:read') ? updates : hiddenUpdates(updates);
    const stream = framesOf(runId, withCleanup(shown, releaseStreamSlot));
    return { status: 200, stream, headers: { ...eventStreamHeaders, ...corsHeaders } };
  },
};

export const servedByEvents: Served<'events'> = { routes: runRoutes, operations: eventOperations };

/** Begins to follow the run. Nothing of the stream is read before its slot is taken. */
async function follow(deps: Deps, { runId, ...scope }: WatchedRun, after: number) {
  if (isExternalRunId(runId)) {
    const external = await beginFollowingExternal(deps, scope, runId);
    if (external === undefined) return undefined;
    return { hasSeenAll: hasSeenAllExternal(external, after), updates: () => followExternalRun(deps, external, after) };
  }
  const run = await beginFollowing(deps, { ...scope, runId });
  return run && { hasSeenAll: hasSeenAll(run, after), updates: () => followRun(deps, run, after) };
}

/** For a caller without `payloads:read`. Deltas and lines of a log are nothing but data. */
async function* hiddenUpdates(updates: AsyncIterable<StreamUpdate>): AsyncGenerator<StreamUpdate, void, undefined> {
  for await (const update of updates) {
    if (update.kind === 'heartbeat') yield update;
    else if (update.kind === 'event') yield { ...update, event: withoutPayload(update.event) };
    else if (update.kind === 'derived' && update.event.type !== derivedEventNames.log)
      yield { ...update, event: withoutPayload(update.event) };
  }
}

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
 * A browser that reconnects sends the original URL and the header Last-Event-ID. The larger cursor is its position. An empty
 * header counts as absent.
 */
function latestCursor(cursors: readonly (string | undefined)[]): number | undefined {
  const presentCursors = cursors.filter((cursor) => cursor !== undefined && cursor !== '');
  if (!presentCursors.every((cursor) => eventIdPattern.test(cursor ?? ''))) return undefined;
  return Math.max(0, ...presentCursors.map(Number));
}

/** Delay before a browser reconnects, in milliseconds. */
const retryMs = 1_000;

const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  // No proxy may cache, compress or buffer the stream.
  'cache-control': 'no-cache, no-transform, no-store',
  'x-accel-buffering': 'no',
} as const;

/** JSON.stringify emits no line breaks, so the data of a frame is one line. */
const frame = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** The first frame is sent at once, so that the reader knows that it is connected. Only log events have an id: readers resume by it. */
async function* framesOf(runId: string, updates: AsyncIterable<StreamUpdate>): AsyncGenerator<string, void, undefined> {
  yield `retry: ${retryMs}\n\n`;
  for await (const update of updates) {
    switch (update.kind) {
      case 'event':
        yield `id: ${update.event.eventId}\n${frame(update.event.type, update.event)}`;
        break;
      case 'derived':
        yield frame(update.event.type, update.event);
        break;
      case 'delta':
        yield frame(update.delta.type, update.delta);
        break;
      case 'heartbeat':
        yield frame(heartbeatEventName, { type: heartbeatEventName, runId, timestamp: iso(update.at) });
        break;
    }
  }
}

const jsonTypes: readonly string[] = ['application/json', 'application/*', '*/*', ''];
const streamType = 'text/event-stream';

/** A stream if the Accept header names it and prefers nothing else. Undefined if the header accepts neither format. */
const negotiateFormat = (accept: string | undefined): 'json' | 'stream' | undefined => {
  const parts = (accept ?? '').split(',').map(parsePart);
  const bestQuality = (types: readonly string[]): number =>
    Math.max(0, ...parts.filter(({ type }) => types.includes(type)).map(({ quality }) => quality));
  const [stream, json] = [bestQuality([streamType]), bestQuality(jsonTypes)];
  if (stream > 0 && stream >= json) return 'stream';
  return json > 0 ? 'json' : undefined;
};

const parsePart = (part: string): { readonly type: string; readonly quality: number } => {
  const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
  const qualityParameter = parameters.find((each) => each.startsWith('q='));
  const quality = qualityParameter === undefined ? 1 : Number(qualityParameter.slice(2));
  return { type, quality: Number.isFinite(quality) ? quality : 0 };
};
