/** An event as readers outside see it: one envelope for HTTP, streams, sockets and the console. */
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
  /** the same number, for readers that expect it under this name */
  readonly sequence: EventId;
  readonly type: PublicEventName;
  readonly runId: string;
  /** the name of its workflow */
  readonly workflowId: string;
  readonly timestamp: string;
  /** absent where there is nothing to say */
  readonly correlation?: Correlation;
  readonly payload: JsonObject;
}

interface Correlation {
  /** of the request that asked for the run, by W3C Trace Context */
  readonly traceId?: string;
  /** the node's longest distance from a root */
  readonly wave?: number;
}

/** What is said of a run around each of its events. */
export type Told = Pick<RunCreation, 'address' | 'workflow' | 'trace'>;

/** The public form of each event of a commit, in order. Payloads keep the shape they have in the log. */
export const publicEvents = (run: Told, commit: Commit): readonly PublicEvent[] =>
  publicFacts(run, commit).map(({ event }) => event);

/** An event beside the fact of the log that it shows. */
export interface PublicFact {
  readonly event: PublicEvent;
  readonly fact: RunEvent;
}

export const publicFacts = (run: Told, commit: Commit): readonly PublicFact[] =>
  commit.events.map((fact, index) => {
    const id = eventId(commit.firstEventId + index);
    const event = {
      eventId: id,
      sequence: id,
      type: mapEngineEventToSse(fact),
      ...envelopeOf(run, commit.at, 'wave' in fact ? fact.wave : undefined),
      payload: payloadOf(fact),
    };
    return { event, fact };
  });

/** What the envelope of an event, or of a delta, says beside its id and its type. */
export function envelopeOf({ address, workflow, trace }: Told, at: Instant, wave?: number) {
  const correlation: Correlation = {
    ...(trace === undefined ? {} : { traceId: traceIdOf(trace.traceparent) }),
    ...(wave === undefined ? {} : { wave }),
  };
  const isEmpty = trace === undefined && wave === undefined;
  return {
    runId: address.runId,
    workflowId: workflow.name,
    timestamp: iso(at),
    ...(isEmpty ? {} : { correlation }),
  };
}

/** What an event says to the engine alone. */
const ownWords: ReadonlySet<string> = new Set(['token', 'isPure']);

const payloadOf = (event: RunEvent): JsonObject => {
  const { type: _type, ...facts } = event;
  const payload: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(facts))
    if (value !== undefined && !ownWords.has(key) && !(key === 'iteration' && value === ''))
      payload[key] = publicValue(key, value as JsonValue);
  return payload;
};

const publicValue = (key: string, value: JsonValue): JsonValue =>
  (key.endsWith('At') || key === 'notBefore') && typeof value === 'number' ? iso(instant(value)) : value;
