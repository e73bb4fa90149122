/** What is posted to a socket of each thing that happens: a text, and where it stands, so that nobody is posted it twice. */
import { contextAt } from '../engine/graph/context-at.ts';
import { type RunAddress, eventId, nodeKey, topLevel } from '../engine/ids.ts';
import type { JsonObject, JsonValue, Payload } from '../engine/json.ts';
import { heartbeatEventName } from '../engine/log/event-names.ts';
import type { Failure } from '../engine/log/events.ts';
import type { RunState } from '../engine/log/fold.ts';
import type { PublicEvent, PublicFact } from '../engine/log/public-event.ts';
import {
  type NodeUpdate,
  type StatusUpdate,
  endsNode,
  nodeUpdateName,
  statusUpdateName,
  updateOf,
} from '../engine/log/socket-update.ts';
import { type Instant, iso } from '../engine/time.ts';
import type { Deps } from './deps.ts';
import type { PublicDelta } from './follow-run.ts';
import { load, withPayloads } from './payloads.ts';
import type { Heard } from './read-deltas.ts';
import { readRun } from './read-log.ts';

/** The gateway's limit for one message, in bytes. */
export const largestFrameBytes = 131_072;
/** An output or a context that is larger is left out, and its size said: what is around it needs room too. */
export const largestFrameValueBytes = 98_304;
/** A failure's own words, where all of it does not fit. */
const longestMessage = 4_096;

/** A delta's node and index; an event's id. */
export type Place =
  | { readonly kind: 'event'; readonly eventId: number; /** no delta of this node comes any more */ readonly ends?: string }
  | { readonly kind: 'delta'; readonly node: string; readonly index: number };

export interface SocketFrame {
  readonly place: Place;
  /** undefined: there is nothing to post, and the watcher has seen it all the same */
  readonly text: string | undefined;
}

export const greetingOf = (run: RunAddress, after: number): string => JSON.stringify({ type: 'joined', runId: run.runId, after });

export const heartbeatOf = (run: RunAddress, at: Instant): string =>
  JSON.stringify({ type: heartbeatEventName, runId: run.runId, timestamp: iso(at) });

/** The last frame of a run that has ended, to who has heard all of it. */
export const farewellOf = (run: RunAddress): string => JSON.stringify({ type: 'left', runId: run.runId, reason: 'run_ended' });

export const deltaFrame = (delta: PublicDelta, { node, delta: { index } }: Heard): SocketFrame => ({
  place: { kind: 'delta', node: nodeKey(node), index },
  text: JSON.stringify(delta),
});

export async function frameOf(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  { event, fact }: PublicFact,
): Promise<SocketFrame> {
  const update = updateOf(fact);
  const place = { kind: 'event', eventId: event.eventId } as const;
  if (update === undefined) return { place, text: undefined };
  if (update.kind === 'run') return { place, text: await statusText(deps, run, event, update) };
  const ends = endsNode(update) ? { ends: nodeKey(update) } : {};
  return { place: { ...place, ...ends }, text: await nodeText(deps, run, event, update) };
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
    ...shown('output', output === undefined ? { value: null } : await within(deps, run, output)),
  };
  return bounded((failure) => textOf(nodeUpdateName, event, { ...facts, error: failure }), error);
}

async function statusText(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  event: PublicEvent,
  { status, error }: StatusUpdate,
): Promise<string> {
  const context = await contextAfter(deps, run, event.eventId);
  const facts = { instanceId: run.runId, status, ...shown('contextData', context) };
  return bounded(
    (failure) => textOf(statusUpdateName, event, { ...facts, ...(failure === null ? {} : { error: failure }) }),
    error,
  );
}

const textOf = (
  type: string,
  { eventId: id, runId, workflowId, timestamp, correlation }: PublicEvent,
  payload: JsonObject,
): string => JSON.stringify({ type, eventId: id, runId, workflowId, timestamp, correlation, payload: documented(payload) });

/** The document of the engine spells ids in these two payloads otherwise than this house: `instanceId` with a capital D, and so on. */
const documented = (payload: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(payload).map(([name, value]) => [name.replace(/Id$/, 'ID'), value]));

type Fitting = { readonly value: JsonValue } | { readonly omittedBytes: number };

const shown = (name: string, fitting: Fitting): JsonObject =>
  'value' in fitting ? { [name]: fitting.value } : { [name]: null, [`${name}Omitted`]: { bytes: fitting.omittedBytes } };

const sizeOf = (payload: Payload): number =>
  'ref' in payload ? payload.bytes : Buffer.byteLength(JSON.stringify(payload.value));

async function within(deps: Pick<Deps, 'blobs' | 'clock' | 'log'>, run: RunAddress, payload: Payload): Promise<Fitting> {
  const bytes = sizeOf(payload);
  if (bytes > largestFrameValueBytes) return { omittedBytes: bytes };
  return { value: 'ref' in payload ? await load(deps, run, payload.ref) : payload.value };
}

/** What templates saw once this event had happened, without what is the system's own. Nothing of a run that is no more. */
async function contextAfter(deps: Pick<Deps, 'blobs' | 'clock' | 'log'>, run: RunAddress, id: number): Promise<Fitting> {
  const fold = await readRun(deps, run);
  if (fold === undefined) return { value: null };
  const before = eventId(id + 1);
  const bytes = contextBytes(fold.state, id);
  if (bytes > largestFrameValueBytes) return { omittedBytes: bytes };
  return { value: await withPayloads(deps, run, (loaded) => contextAt(fold.state, topLevel, before, loaded).all()) };
}

/** Reckoned before anything is loaded. */
const contextBytes = (state: RunState, id: number): number =>
  [...state.written.entries()].reduce((sum, [key, written]) => {
    const last = key.startsWith('__') ? undefined : written.findLast(({ by }) => by <= id)?.payload;
    return last === undefined ? sum : sum + Buffer.byteLength(key) + sizeOf(last);
  }, 0);

/** With the whole failure where that fits, else with its first words. */
function bounded(text: (failure: JsonObject | null) => string, error: Failure | undefined): string {
  if (error === undefined) return text(null);
  const { cause, code = cause, message, details } = error;
  const whole = text({ code, cause, message, ...(details === undefined ? {} : { details }) });
  return Buffer.byteLength(whole) <= largestFrameBytes ? whole : text({ code, cause, message: message.slice(0, longestMessage) });
}
