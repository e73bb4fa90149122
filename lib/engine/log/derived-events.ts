/**
 * Events that follow from the log and are not in it: the lines that an attempt printed, each node that the end of its run, or
 * the begin of a rollback, cancelled, and the start of a step of code or of a node in a wide fan-out. They cost no write (docs/decisions/derived-events.md).
 */
import { defined } from '../../base/defined.ts';
import { type Attempt, type NodeKey, type NodeRef, nodeKey, topLevel } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { isTerminalRunEvent } from '../devkit/events.ts';
import { isWorkflowTaskNode } from '../durable/step.ts';
import type { RunEvent } from './events.ts';
import { type Instant, after, iso, seconds } from '../time.ts';
import { type DerivedEventName, type PublicEventName, derivedEventNames, mapEngineEventToSse } from './event-names.ts';
import { openNodes } from './fold.ts';
import type { Heartbeat } from './heartbeat-timeout.ts';
import { hasStepFunction, withRecordedStart, withStepStart } from './open-nodes.ts';
import { type MappedEvent, type PublicEvent, type RunIdentity, envelopeOf } from './public-event.ts';
import type { RunState } from './run-state.ts';

/** A derived event as readers see it. It has the id of the event before it. */
export interface DerivedEvent extends Omit<PublicEvent, 'eventId' | 'sequence' | 'type'> {
  readonly eventId: number;
  readonly sequence: number;
  readonly type: DerivedEventName | PublicEventName;
}

/** Whether `derivedEvents` needs the fold for this event. */
export const mayCancelNodes = ({ type }: RunEvent): boolean => cancellingEvents.has(type);

const cancellingEvents: ReadonlySet<RunEvent['type']> = new Set([
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_TIMED_OUT',
  'RUN_CANCELLED',
  'ROLLBACK_STARTED',
]);

/** Whether the event dispatches an attempt whose start no commit may record. */
export const mayStartUnrecorded = (event: RunEvent): boolean =>
  (event.type === 'NODE_DISPATCHED' && (event.via === 'collect' || hasStepFunction(event.step?.kind))) ||
  event.type === 'NODE_RETRIED';

/** @param state the fold of the run, which includes the event; any state where `mayCancelNodes` is false */
export function derivedEvents(state: RunState, { event, logEvent }: MappedEvent): readonly DerivedEvent[] {
  const position = event.eventId - 1;
  const derived = (type: DerivedEventName, payload: JsonObject): DerivedEvent => ({
    ...event,
    eventId: position,
    sequence: position,
    type,
    payload,
  });
  switch (logEvent.type) {
    case 'NODE_COMPLETED':
    case 'NODE_RETRIED':
    case 'NODE_FAILED': {
      const { printed = [] } = logEvent;
      return printed.length === 0 ? [] : [derived(derivedEventNames.log, { ...attemptFields(logEvent), lines: printed })];
    }
    case 'RUN_COMPLETED':
    case 'RUN_FAILED':
    case 'RUN_TIMED_OUT':
    case 'RUN_CANCELLED':
    case 'ROLLBACK_STARTED':
    case 'DEVKIT':
      if (logEvent.type === 'DEVKIT' && !isTerminalRunEvent(logEvent.event)) return [];
      return [...state.nodes.entries()].flatMap(([, node]) =>
        node.status === 'cancelled' && node.endedBy === event.eventId && !isWorkflowTaskNode(node.nodeId)
          ? [derived(derivedEventNames.cancelled, attemptFields(node))]
          : [],
      );
    default:
      return [];
  }
}

/** A start is announced after this time. For a shorter attempt, the event of its outcome has the start. */
const announceAfter = seconds(1);

/** Whether the derived event is a start, which belongs to no later event. */
export const isStart = ({ type }: DerivedEvent): boolean => type === startedName;

const startedName = mapEngineEventToSse({ type: 'NODE_STARTED' });

/** What a stream knows when it announces starts. */
export interface AnnouncedStarts {
  readonly now: Instant;
  /** the id of the last event of the state */
  readonly last: number;
  /** the attempts that this stream has announced, by `attemptName`; `unrecordedStarts` adds to them */
  readonly announced: Set<string>;
  /** the heartbeats of the nodes of wide fan-outs, as of the last read */
  readonly heartbeats: ReadonlyMap<NodeKey, Heartbeat>;
}

export const attemptName = (node: NodeRef & { readonly attempt: Attempt }): string => `${nodeKey(node)}#${node.attempt}`;

/**
 * The start of each attempt that has run for a second and whose start no commit records. For a step function the dispatch is the start.
 * A node of a wide fan-out has it in its heartbeat.
 */
export function unrecordedStarts(
  run: RunIdentity,
  state: RunState,
  { now, last, announced, heartbeats }: AnnouncedStarts,
): readonly DerivedEvent[] {
  return openNodes(state).flatMap((open) => {
    if (open.status !== 'queued') return [];
    const node = withRecordedStart(withStepStart(open, now), heartbeats.get(nodeKey(open)));
    if (node?.status !== 'running' || after(node.startedAt, announceAfter) > now) return [];
    const name = attemptName(node);
    if (announced.has(name)) return [];
    announced.add(name);
    const payload = { ...attemptFields(node), startedAt: iso(node.startedAt) };
    return [{ eventId: last, sequence: last, type: startedName, ...envelopeOf(run, node.startedAt), payload }];
  });
}

const attemptFields = ({ nodeId, iteration, attempt }: NodeRef & { readonly attempt: Attempt }): JsonObject =>
  defined({ nodeId, iteration: iteration === topLevel ? undefined : iteration, attempt });
