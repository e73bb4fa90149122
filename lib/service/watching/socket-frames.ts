/** Builds the frames for sockets: the text of each update, and its position, so that no socket receives it twice. */
import { defined } from '../../base/defined.ts';
import { contextAt } from '../../engine/graph/context.ts';
import { type RunAddress, eventId, nodeKey, topLevel } from '../../engine/ids.ts';
import type { JsonObject, JsonValue, Payload } from '../../engine/json.ts';
import { heartbeatEventName } from '../../engine/log/event-names.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { RunState } from '../../engine/log/fold.ts';
import type { PublicEvent, MappedEvent } from '../../engine/log/public-event.ts';
import {
  type NodeUpdate,
  type StatusUpdate,
  isNodeEnd,
  nodeUpdateName,
  statusUpdateName,
  updateOf,
} from '../../engine/log/socket-update.ts';
import { type Instant, iso } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';
import type { PublicDelta } from './follow-run.ts';
import { loadPayload, withPayloads } from '../run-log/payloads.ts';
import type { ReceivedDelta } from './delta-subscriptions.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';

/** The gateway's limit for one message, in bytes. */
export const maxFrameBytes = 131_072;
/** A larger output or context is omitted and its size is given, because the rest of the frame needs room too. */
export const maxFrameValueBytes = 98_304;
/** The end of a run may cancel thousands of nodes. Each frame is a post, and a broadcaster has a limited time. */
export const maxDerivedFrames = 500;
/** Maximum length of an error message if the whole error does not fit. */
const maxMessageLength = 4_096;

/** The position of a frame: an event id, or the node and index of a delta. */
export type FramePosition =
  | { readonly kind: 'event'; readonly eventId: number; /** no delta of this node follows */ readonly endedNode?: string }
  | { readonly kind: 'delta'; readonly node: string; readonly index: number }
  /** a derived event, which has no id of its own; it comes before this event */
  | { readonly kind: 'derived'; readonly beforeEvent: number };

export interface SocketFrame {
  readonly position: FramePosition;
  /** undefined: nothing to post, but the cursor advances */
  readonly text: string | undefined;
}

export const joinedMessageOf = (run: RunAddress, after: number): string =>
  JSON.stringify({ type: 'joined', runId: run.runId, after });

export const heartbeatMessageOf = (run: RunAddress, at: Instant): string =>
  JSON.stringify({ type: heartbeatEventName, runId: run.runId, timestamp: iso(at) });

/** The last frame of an ended run, for a watcher that has received all updates. */
export const leftMessageOf = (run: RunAddress): string => JSON.stringify({ type: 'left', runId: run.runId, reason: 'run_ended' });

export const deltaFrame = (delta: PublicDelta, { node, delta: { index } }: ReceivedDelta): SocketFrame => ({
  position: { kind: 'delta', node: nodeKey(node), index },
  text: JSON.stringify(delta),
});

/** The frame of an event of the log. */
export async function frameOf(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  { event, logEvent }: MappedEvent,
): Promise<SocketFrame> {
  const update = updateOf(logEvent);
  const position = { kind: 'event', eventId: event.eventId } as const;
  if (update === undefined) return { position, text: undefined };
  if (update.kind === 'run') return { position, text: await statusText(deps, run, event, update) };
  const endedNode = isNodeEnd(update) ? { endedNode: nodeKey(update) } : {};
  return { position: { ...position, ...endedNode }, text: await nodeText(deps, run, event, update) };
}

async function nodeText(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  event: PublicEvent,
  { nodeId, iteration, status, attempt, output, error }: NodeUpdate,
): Promise<string> {
  const facts = {
    instanceId: run.runId,
    nodeId,
    status,
    ...(iteration === topLevel ? {} : { iteration }),
    ...(attempt === undefined ? {} : { attempt }),
    ...valueFields('output', output === undefined ? { value: null } : await loadWithinLimit(deps, run, output)),
  };
  return withinFrameLimit((failure) => textOf(nodeUpdateName, event, { ...facts, error: failure }), error);
}

async function statusText(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  event: PublicEvent,
  { status, error }: StatusUpdate,
): Promise<string> {
  const context = await readContextAfter(deps, run, event.eventId);
  const facts = { instanceId: run.runId, status, ...valueFields('contextData', context) };
  return withinFrameLimit(
    (failure) => textOf(statusUpdateName, event, defined({ ...facts, error: failure === null ? undefined : failure })),
    error,
  );
}

const textOf = (
  type: string,
  { eventId: id, runId, workflowId, timestamp, correlation }: PublicEvent,
  payload: JsonObject,
): string =>
  JSON.stringify({ type, eventId: id, runId, workflowId, timestamp, correlation, payload: withDocumentedNames(payload) });

/** The engine's reference document spells ids in these two payloads with `ID`, for example `instanceID`. */
export const withDocumentedNames = (payload: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(payload).map(([name, value]) => [name.replace(/Id$/, 'ID'), value]));

type BoundedValue = { readonly value: JsonValue } | { readonly omittedBytes: number };

const valueFields = (name: string, boundedValue: BoundedValue): JsonObject =>
  'value' in boundedValue
    ? { [name]: boundedValue.value }
    : { [name]: null, [`${name}Omitted`]: { bytes: boundedValue.omittedBytes } };

const sizeOf = (payload: Payload): number =>
  'ref' in payload ? payload.bytes : Buffer.byteLength(JSON.stringify(payload.value));

async function loadWithinLimit(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  payload: Payload,
): Promise<BoundedValue> {
  const bytes = sizeOf(payload);
  if (bytes > maxFrameValueBytes) return { omittedBytes: bytes };
  return { value: 'ref' in payload ? await loadPayload(deps, run, payload.ref) : payload.value };
}

/** The context of templates after this event, without system values; null for a deleted run. */
async function readContextAfter(deps: Pick<Deps, 'blobs' | 'clock' | 'log'>, run: RunAddress, id: number): Promise<BoundedValue> {
  const fold = await readRunFold(deps, run);
  if (fold === undefined) return { value: null };
  const before = eventId(id + 1);
  const bytes = contextBytes(fold.state, id);
  if (bytes > maxFrameValueBytes) return { omittedBytes: bytes };
  return { value: await withPayloads(deps, run, (loaded) => contextAt(fold.state, topLevel, before, loaded).all()) };
}

/** The size of the context, computed before any payload is loaded. */
const contextBytes = (state: RunState, id: number): number =>
  [...state.contextWrites.entries()].reduce((sum, [key, written]) => {
    const last = key.startsWith('__') ? undefined : written.findLast(({ writtenBy }) => writtenBy <= id)?.payload;
    return last === undefined ? sum : sum + Buffer.byteLength(key) + sizeOf(last);
  }, 0);

/** The text with the whole error if it fits, otherwise with a shortened message and no details. */
function withinFrameLimit(text: (failure: JsonObject | null) => string, error: Failure | undefined): string {
  if (error === undefined) return text(null);
  const { cause, code = cause, message, details } = error;
  const whole = text(defined({ code, cause, message, details }));
  return Buffer.byteLength(whole) <= maxFrameBytes ? whole : text({ code, cause, message: message.slice(0, maxMessageLength) });
}
