/** Watching a run as it happens: one stream after the other, so that nothing is missed and nothing comes twice. */
import { runDelta, runEvent } from '../api/schemas/runs.ts';
import { deltaEventName } from '../engine/log/event-names.ts';
import { type RequestContext, correlationHeader, errorFromResponse, readRetryAfterMs } from './parse-response.ts';
import { type CallOptions, resolvePath } from './send-request.ts';
import { type ComputeClientError, TransportComputeClientError } from './errors.ts';
import { type EventFrame, FrameReader } from './frame-reader.ts';
import { matchesSchema } from './tolerant-schema.ts';
import type { ClientConfig } from './options.ts';
import { waitBeforeRetry } from './retry-policy.ts';
import { type RunUpdate, isDelta, isFinalEvent, routeOf } from './route-types.ts';
import { abortableSleep, withTimeout } from './with-timeout.ts';

const route = routeOf('listRunEvents');
/** The service gives a sign of life every 15 s: after this long the connection is dead, whatever it says of itself. */
const heartbeatTimeoutMs = 45_000;
const firstRetryMs = 1_000;

/** How a connection came to its end: nothing more will come, or the next one may begin, at once or after trouble. */
type ConnectionEnd = 'complete' | 'closed' | { readonly error: ComputeClientError; readonly retryAfterMs: number | undefined };

export interface WatchOptions {
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
  config: ClientConfig,
  runId: string,
  { after = 0, reader = config.newId() }: WatchOptions,
  { signal, correlationId = config.newId() }: CallOptions,
): AsyncGenerator<RunUpdate, void, undefined> {
  const requestContext = { operationId: route.operationId, correlationId };
  const nextDeltaIndexes = new Map<string, number>();
  let lastEventId = after;
  let retryMs = firstRetryMs;
  for (let previousAttempts = 0; ;) {
    const frames = readFrames(
      config,
      requestContext,
      resolvePath(route, { params: { runId }, query: { afterEventId: lastEventId, reader } }),
      signal,
    );
    let connectionEnd: ConnectionEnd = 'closed';
    try {
      for (let nextFrame = await frames.next(); ; nextFrame = await frames.next()) {
        if (nextFrame.done === true) {
          connectionEnd = nextFrame.value;
          break;
        }
        previousAttempts = 0;
        retryMs = nextFrame.value.retryMs ?? retryMs;
        const update = parseUpdate(nextFrame.value);
        if (update === undefined) continue;
        if (isDelta(update)) {
          const node = `${update.payload.nodeId}@${update.payload.iteration ?? ''}`;
          const expectedDeltaIndex = (nextDeltaIndexes.get(node) ?? -1) + 1;
          if (update.payload.deltaIndex < expectedDeltaIndex) continue;
          // Something was lost on the way: the next stream says it all again.
          if (update.payload.deltaIndex > expectedDeltaIndex) break;
          nextDeltaIndexes.set(node, expectedDeltaIndex);
          yield update;
        } else if (update.eventId > lastEventId) {
          lastEventId = update.eventId;
          yield update;
          if (isFinalEvent(update)) return;
        }
      }
    } finally {
      // Also where whoever watches has seen enough.
      await frames.return('closed');
    }
    if (connectionEnd === 'complete') return;
    if (connectionEnd === 'closed') {
      await abortableSleep(config.sleep, retryMs, signal);
      continue;
    }
    const { random, retries } = config;
    const waitMs = waitBeforeRetry({ operationId: route.operationId, hasIdempotencyKey: false }, connectionEnd.error, {
      previousAttempts,
      retryAfterMs: connectionEnd.retryAfterMs,
      random,
    });
    if (waitMs === undefined || previousAttempts === retries) throw connectionEnd.error;
    previousAttempts += 1;
    await abortableSleep(config.sleep, waitMs, signal);
  }
}

/** One connection. It is closed with the generator. */
async function* readFrames(
  { baseUrl, apiKey, fetchImpl, sleep, timeoutMs }: ClientConfig,
  requestContext: RequestContext,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<EventFrame, ConnectionEnd, undefined> {
  const connection = new AbortController();
  const transportError = (kind: 'network' | 'timeout', message: string, cause?: unknown): ConnectionEnd => ({
    error: new TransportComputeClientError({
      ...requestContext,
      kind,
      status: 0,
      message: `${requestContext.operationId}: ${message}`,
      cause,
    }),
    retryAfterMs: undefined,
  });
  const headers = {
    Accept: 'text/event-stream',
    Authorization: `Bearer ${apiKey}`,
    [correlationHeader]: requestContext.correlationId,
  };
  try {
    const connectResult = await withTimeout(timeoutMs, { sleep, signal }, () =>
      fetchImpl(`${baseUrl}${path}`, { method: 'GET', headers, redirect: 'manual', signal: connection.signal }),
    );
    if (!connectResult.isInTime) return transportError('timeout', `no answer within ${timeoutMs} ms`);
    const { status, headers: responseHeaders, body } = connectResult.value;
    if (status === 204) return 'complete';
    if (status !== 200 || body === null) {
      const text = await connectResult.value.text();
      return {
        error: errorFromResponse({ status, headers: responseHeaders, text }, requestContext),
        retryAfterMs: readRetryAfterMs(responseHeaders),
      };
    }
    const bytes = body.getReader();
    const reader = new FrameReader();
    for (;;) {
      const chunk = await withTimeout(heartbeatTimeoutMs, { sleep, signal }, () => bytes.read());
      if (!chunk.isInTime) return transportError('timeout', `nothing came for ${heartbeatTimeoutMs} ms`);
      if (chunk.value.done) return 'closed';
      yield* reader.read(chunk.value.value);
    }
  } catch (cause) {
    signal?.throwIfAborted();
    return transportError('network', 'the service could not be reached, or the stream broke off', cause);
  } finally {
    connection.abort();
  }
}

/** Heartbeats, and what a later service may send besides, are no news; neither is a frame that cannot be read. */
const parseUpdate = ({ id, event, data }: EventFrame): RunUpdate | undefined => {
  if (id === undefined && event !== deltaEventName) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (id === undefined) return matchesSchema(runDelta, parsed) ? { ...parsed, type: deltaEventName } : undefined;
  return matchesSchema(runEvent, parsed) ? parsed : undefined;
};
