/** Watching a run as it happens: one stream after the other, so that nothing is missed and nothing comes twice. */
import { runDelta, runEvent } from '../api/schemas/runs.ts';
import { deltaEventName } from '../engine/log/event-names.ts';
import { type Asked, correlationHeader, refusalIn, retryAfterMsIn } from './answers.ts';
import { type CallOptions, pathOf } from './ask.ts';
import { type ComputeClientError, TransportComputeClientError } from './errors.ts';
import { type EventFrame, FrameReader } from './event-frames.ts';
import { fits } from './open-shape.ts';
import type { ClientParts } from './options.ts';
import { waitBeforeRetry } from './retry-rule.ts';
import { type RunNews, isDelta, isLast, routeOf } from './shapes.ts';
import { pause, within } from './within.ts';

const route = routeOf('listRunEvents');
/** The service gives a sign of life every 15 s: after this long the connection is dead, whatever it says of itself. */
const silenceMs = 45_000;
const firstRetryMs = 1_000;

/** How a connection came to its end: nothing more will come, or the next one may begin, at once or after trouble. */
type Ending = 'over' | 'closed' | { readonly error: ComputeClientError; readonly retryAfterMs: number | undefined };

export interface WatchFrom {
  /** the id of the last event seen; only later ones come */
  readonly after?: number;
  /**
   * what the reader calls itself, in 1 to 64 characters: by it the service knows who comes back, and ends the stream that was
   * left behind. Two readers that watch a run at once need two names. Another one for each call unless given
   */
  readonly reader?: string;
}

/** Ends behind the run's last event. */
export async function* watchRun(
  parts: ClientParts,
  runId: string,
  { after = 0, reader = parts.newId() }: WatchFrom,
  { signal, correlationId = parts.newId() }: CallOptions,
): AsyncGenerator<RunNews, void, undefined> {
  const asked = { operationId: route.operationId, correlationId };
  const heard = new Map<string, number>();
  let last = after;
  let retryMs = firstRetryMs;
  for (let triesBefore = 0; ;) {
    const frames = framesAfter(parts, asked, pathOf(route, { params: { runId }, query: { afterEventId: last, reader } }), signal);
    let ending: Ending = 'closed';
    try {
      for (let came = await frames.next(); ; came = await frames.next()) {
        if (came.done === true) {
          ending = came.value;
          break;
        }
        triesBefore = 0;
        retryMs = came.value.retryMs ?? retryMs;
        const news = newsIn(came.value);
        if (news === undefined) continue;
        if (isDelta(news)) {
          const node = `${news.payload.nodeId}@${news.payload.iteration ?? ''}`;
          const next = (heard.get(node) ?? -1) + 1;
          if (news.payload.deltaIndex < next) continue;
          // Something was lost on the way: the next stream says it all again.
          if (news.payload.deltaIndex > next) break;
          heard.set(node, next);
          yield news;
        } else if (news.eventId > last) {
          last = news.eventId;
          yield news;
          if (isLast(news)) return;
        }
      }
    } finally {
      // Also where whoever watches has seen enough.
      await frames.return('closed');
    }
    if (ending === 'over') return;
    if (ending === 'closed') {
      await pause(parts.sleep, retryMs, signal);
      continue;
    }
    const { random, retries } = parts;
    const waitMs = waitBeforeRetry({ operationId: route.operationId, isKeyed: false }, ending.error, {
      triesBefore,
      retryAfterMs: ending.retryAfterMs,
      random,
    });
    if (waitMs === undefined || triesBefore === retries) throw ending.error;
    triesBefore += 1;
    await pause(parts.sleep, waitMs, signal);
  }
}

/** One connection. It is closed with the generator. */
async function* framesAfter(
  { baseUrl, apiKey, fetchImpl, sleep, timeoutMs }: ClientParts,
  asked: Asked,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<EventFrame, Ending, undefined> {
  const connection = new AbortController();
  const trouble = (kind: 'network' | 'timeout', message: string, cause?: unknown): Ending => ({
    error: new TransportComputeClientError({ ...asked, kind, status: 0, message: `${asked.operationId}: ${message}`, cause }),
    retryAfterMs: undefined,
  });
  const headers = {
    Accept: 'text/event-stream',
    Authorization: `Bearer ${apiKey}`,
    [correlationHeader]: asked.correlationId,
  };
  try {
    const opened = await within(timeoutMs, { sleep, signal }, () =>
      fetchImpl(`${baseUrl}${path}`, { method: 'GET', headers, redirect: 'manual', signal: connection.signal }),
    );
    if (!opened.isInTime) return trouble('timeout', `no answer within ${timeoutMs} ms`);
    const { status, headers: told, body } = opened.value;
    if (status === 204) return 'over';
    if (status !== 200 || body === null) {
      const text = await opened.value.text();
      return { error: refusalIn({ status, headers: told, text }, asked), retryAfterMs: retryAfterMsIn(told) };
    }
    const bytes = body.getReader();
    const reader = new FrameReader();
    for (;;) {
      const read = await within(silenceMs, { sleep, signal }, () => bytes.read());
      if (!read.isInTime) return trouble('timeout', `nothing came for ${silenceMs} ms`);
      if (read.value.done) return 'closed';
      yield* reader.read(read.value.value);
    }
  } catch (cause) {
    signal?.throwIfAborted();
    return trouble('network', 'the service could not be reached, or the stream broke off', cause);
  } finally {
    connection.abort();
  }
}

/** Heartbeats, and what a later service may send besides, are no news; neither is a frame that cannot be read. */
const newsIn = ({ id, event, data }: EventFrame): RunNews | undefined => {
  if (id === undefined && event !== deltaEventName) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (id === undefined) return fits(runDelta, parsed) ? { ...parsed, type: deltaEventName } : undefined;
  return fits(runEvent, parsed) ? parsed : undefined;
};
