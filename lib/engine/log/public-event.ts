/** An event as readers see it: one envelope for HTTP, streams, sockets and the console. */
import { defined } from '../../base/defined.ts';
import type { DevKitEvent } from '../devkit/events.ts';
import { type EventId, eventId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { type Instant, instant, iso } from '../time.ts';
import { traceIdOf } from '../trace.ts';
import type { Commit } from './commit.ts';
import { type PublicEventName, mapEngineEventToSse } from './event-names.ts';
import type { RunEvent } from './events.ts';
import type { RunCreation } from './head.ts';

export interface PublicEvent {
  readonly eventId: EventId;
  /** equal to `eventId`, for readers that expect this name */
  readonly sequence: EventId;
  readonly type: PublicEventName;
  readonly runId: string;
  /** the workflow's name */
  readonly workflowId: string;
  readonly timestamp: string;
  /** absent if it has no fields */
  readonly correlation?: Correlation;
  readonly payload: JsonObject;
}

interface Correlation {
  /** W3C trace id of the request that started the run */
  readonly traceId?: string;
  /** the node's longest distance from a root */
  readonly wave?: number;
}

/** The fields of a run that each of its events shows. */
export type RunIdentity = Pick<RunCreation, 'address' | 'workflow' | 'trace'>;

/** The public form of each event of a commit, in order. Payloads keep their shape in the log. */
export const publicEvents = (run: RunIdentity, commit: Commit): readonly PublicEvent[] =>
  mapEvents(run, commit).map(({ event }) => event);

/** A public event and its log event. */
export interface MappedEvent {
  readonly event: PublicEvent;
  readonly logEvent: RunEvent;
}

export const mapEvents = (run: RunIdentity, commit: Commit): readonly MappedEvent[] =>
  commit.events.map((logEvent, index) => {
    const id = eventId(commit.firstEventId + index);
    const event = {
      eventId: id,
      sequence: id,
      type: mapEngineEventToSse(logEvent),
      ...envelopeOf(run, commit.at, 'wave' in logEvent ? logEvent.wave : undefined),
      payload: payloadOf(logEvent),
    };
    return { event, logEvent };
  });

/** The envelope of an event or a delta, without id and type. */
export function envelopeOf({ address, workflow, trace }: RunIdentity, at: Instant, wave?: number) {
  const correlation: Correlation = defined({
    traceId: trace === undefined ? undefined : traceIdOf(trace.traceparent),
    wave,
  });
  const isEmpty = trace === undefined && wave === undefined;
  return defined({
    runId: address.runId,
    workflowId: workflow.name,
    timestamp: iso(at),
    correlation: isEmpty ? undefined : correlation,
  });
}

/** Fields that only the engine reads. */
const internalFields: ReadonlySet<string> = new Set(['token', 'isPure']);

const payloadOf = (event: RunEvent): JsonObject => {
  if (event.type === 'DEVKIT') return payloadOfDevKit(event);
  const { type: _type, ...fields } = event;
  const payload: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(fields))
    if (value !== undefined && !internalFields.has(key) && !(key === 'iteration' && value === ''))
      payload[key] = publicValue(key, value as JsonValue);
  return payload;
};

/** Plain fields that readers understand. A token opens its hook to everyone, and payloads are serialized by the code. */
const shownData = [
  'stepName',
  'workflowName',
  'deploymentId',
  'errorCode',
  'cancelReason',
  'conflictingRunId',
  'changes',
] as const;

function payloadOfDevKit({ event, correlationId, data = {}, until, payload }: DevKitEvent): JsonObject {
  const shown = Object.fromEntries(shownData.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]])));
  return defined({
    ...shown,
    event,
    nodeId: correlationId,
    until: until === undefined ? undefined : iso(until),
    payloadBytes: payload === undefined ? undefined : 'ref' in payload ? payload.bytes : JSON.stringify(payload.value).length,
  });
}

const publicValue = (key: string, value: JsonValue): JsonValue =>
  (key.endsWith('At') || key === 'notBefore') && typeof value === 'number' ? iso(instant(value)) : value;
