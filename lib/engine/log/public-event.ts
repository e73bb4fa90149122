/** An event as readers outside see it: one envelope for HTTP, streams, sockets and the console. */
import { type EventId, type RunAddress, eventId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { instant, iso } from '../time.ts';
import type { Commit } from './commit.ts';
import { type PublicEventName, mapEngineEventToSse } from './event-names.ts';
import type { RunEvent } from './events.ts';

export interface PublicEvent {
  readonly eventId: EventId;
  /** the same number, for readers that expect it under this name */
  readonly sequence: EventId;
  readonly type: PublicEventName;
  readonly runId: string;
  readonly timestamp: string;
  readonly payload: JsonObject;
}

/** The public form of each event of a commit, in order. Payloads keep the shape they have in the log. */
export const publicEvents = (run: RunAddress, commit: Commit): readonly PublicEvent[] =>
  publicFacts(run, commit).map(({ event }) => event);

/** An event beside the fact of the log that it shows. */
export interface PublicFact {
  readonly event: PublicEvent;
  readonly fact: RunEvent;
}

export const publicFacts = (run: RunAddress, commit: Commit): readonly PublicFact[] =>
  commit.events.map((fact, index) => {
    const id = eventId(commit.firstEventId + index);
    const event = {
      eventId: id,
      sequence: id,
      type: mapEngineEventToSse(fact),
      runId: run.runId,
      timestamp: iso(commit.at),
      payload: payloadOf(fact),
    };
    return { event, fact };
  });

/** What an event says to the engine alone. */
const ownWords: ReadonlySet<string> = new Set(['token', 'isPure']);

const payloadOf = (event: RunEvent): JsonObject => {
  const { type: _type, ...facts } = event;
  const entries = Object.entries(facts).filter(
    ([key, value]) => value !== undefined && !ownWords.has(key) && !(key === 'iteration' && value === ''),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, publicValue(key, value as JsonValue)]));
};

const publicValue = (key: string, value: JsonValue): JsonValue =>
  (key.endsWith('At') || key === 'notBefore') && typeof value === 'number' ? iso(instant(value)) : value;
