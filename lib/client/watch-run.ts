/** Watches a run over server-sent events. It reconnects with the last event id, so no event is missed or repeated. */
import { runDelta, runEvent } from '../api/schemas/runs.ts';
import { nextAttempt } from '../base/retry.ts';
import { deltaEventName } from '../engine/log/event-names.ts';
import { EventStreamParser, EventTooLong, type ServerSentEvent, type StreamPart } from '../event-stream/event-stream-parser.ts';
import { type RequestContext, correlationHeader, errorFromResponse, readRetryAfterMs } from './parse-response.ts';
import { type CallOptions, resolvePath } from './send-request.ts';
import { TransportComputeClientError } from './errors.ts';
import { derivedEventKey } from './derived-event-key.ts';
import { matchesSchema } from './tolerant-schema.ts';
import type { ClientConfig } from './options.ts';
import { type FailedAttempt, isRetryable, retryLimits } from './retry-policy.ts';
import { type RunEvent, type RunUpdate, isDelta, isFinalEvent, routeOf } from './route-types.ts';
import { abortableSleep, withTimeout } from './with-timeout.ts';

const route = routeOf('listRunEvents');
/** The service sends a heartbeat every 15 s. After this long without one, the connection is treated as lost. */
const heartbeatTimeoutMs = 45_000;
const firstRetryMs = 1_000;
/** The service sends no event of this size. The limit bounds the memory that another server can use. */
const maxEventLength = 16_777_216;

/** How a connection ended: the stream is complete, the service closed it, or an error occurred. */
type ConnectionEnd = 'complete' | 'closed' | FailedAttempt;

export interface WatchOptions {
  /** the id of the last event seen; only later events are returned */
  readonly after?: number;
  /**
   * the name of the reader, 1 to 64 characters. When a reader reconnects, the service closes its previous stream. Two readers
   * that watch a run at the same time need two names. Default: a new name for each call
   */
  readonly reader?: string;
}

/** Yields events, derived events and deltas, and returns after the last event of the run. */
export async function* watchRun(
  config: ClientConfig,
  runId: string,
  { after = 0, reader = config.newId() }: WatchOptions,
  { signal, correlationId = config.newId() }: CallOptions,
): AsyncGenerator<RunUpdate, void, undefined> {
  const requestContext = { operationId: route.operationId, correlationId };
  const progress = new WatchProgress(after);
  let retryMs = firstRetryMs;
  for (let failedAttempts = 0; ;) {
    const parts = readStream(
      config,
      requestContext,
      resolvePath(route, { params: { runId }, query: { afterEventId: progress.lastEventId, reader } }),
      signal,
    );
    let connectionEnd: ConnectionEnd = 'closed';
    try {
      for (let next = await parts.next(); ; next = await parts.next()) {
        if (next.done === true) {
          connectionEnd = next.value;
          break;
        }
        failedAttempts = 0;
        const part = next.value;
        if (part.kind === 'retry') {
          retryMs = part.delayMs;
          continue;
        }
        const update = parseUpdate(part);
        const novelty = update === undefined ? 'repeated' : progress.accept(update, part.id === undefined);
        // A delta is missing: the next stream repeats all deltas.
        if (novelty === 'gap') break;
        if (update === undefined || novelty === 'repeated') continue;
        yield update;
        if (!isDelta(update) && isFinalEvent(update)) return;
      }
    } finally {
      // Also closes the connection if the caller stops early.
      await parts.return('closed');
    }
    if (connectionEnd === 'complete') return;
    if (connectionEnd === 'closed') {
      await abortableSleep(config.sleep, retryMs, signal);
      continue;
    }
    failedAttempts += 1;
    const next = nextAttempt(retryLimits(config), failedAttempts, {
      random: config.random(),
      requestedDelayMs: connectionEnd.retryAfterMs,
    });
    if (next.kind === 'give-up' || !isRetryable({ operationId: route.operationId, hasIdempotencyKey: false }, connectionEnd))
      throw connectionEnd.error;
    await abortableSleep(config.sleep, next.delayMs, signal);
  }
}

/** The updates that the caller has received, because a new stream repeats some of them. */
class WatchProgress {
  lastEventId: number;
  readonly #nextDeltaIndexes = new Map<string, number>();
  readonly #derivedEvents = new Set<string>();

  constructor(lastEventId: number) {
    this.lastEventId = lastEventId;
  }

  /** Counts a new update as received. `gap`: a delta before this one is missing. */
  accept(update: RunUpdate, isDerived: boolean): 'new' | 'repeated' | 'gap' {
    if (!isDelta(update)) {
      if (isDerived) return this.#acceptDerived(update);
      if (update.eventId <= this.lastEventId) return 'repeated';
      this.lastEventId = update.eventId;
      return 'new';
    }
    const node = `${update.payload.nodeId}@${update.payload.iteration ?? ''}`;
    const expectedIndex = this.#nextDeltaIndexes.get(node) ?? 0;
    if (update.payload.deltaIndex !== expectedIndex) return update.payload.deltaIndex < expectedIndex ? 'repeated' : 'gap';
    this.#nextDeltaIndexes.set(node, expectedIndex + 1);
    return 'new';
  }

  #acceptDerived(event: RunEvent): 'new' | 'repeated' {
    const name = derivedEventKey(event);
    if (this.#derivedEvents.has(name)) return 'repeated';
    this.#derivedEvents.add(name);
    return 'new';
  }
}

/** Opens one connection and yields the parts of its stream. Closing the generator closes the connection. */
async function* readStream(
  { baseUrl, apiKey, fetchImpl, sleep, timeoutMs }: ClientConfig,
  requestContext: RequestContext,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamPart, ConnectionEnd, undefined> {
  const connection = new AbortController();
  const transportError = (kind: TransportComputeClientError['kind'], message: string, cause?: unknown): ConnectionEnd => ({
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
    if (!connectResult.isInTime) return transportError('timeout', `no response within ${timeoutMs} ms`);
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
    const parser = new EventStreamParser(maxEventLength);
    for (;;) {
      const chunk = await withTimeout(heartbeatTimeoutMs, { sleep, signal }, () => bytes.read());
      if (!chunk.isInTime) return transportError('timeout', `no data for ${heartbeatTimeoutMs} ms`);
      if (chunk.value.done) return 'closed';
      yield* parser.read(chunk.value.value);
    }
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof EventTooLong) return transportError('response', cause.message, cause);
    return transportError('network', 'the service is unreachable, or the stream was interrupted', cause);
  } finally {
    connection.abort();
  }
}

/** Ignores heartbeats, events of newer services and events that cannot be parsed. */
const parseUpdate = ({ event, data }: ServerSentEvent): RunUpdate | undefined => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (event === deltaEventName) return matchesSchema(runDelta, parsed) ? { ...parsed, type: deltaEventName } : undefined;
  return matchesSchema(runEvent, parsed) ? parsed : undefined;
};
