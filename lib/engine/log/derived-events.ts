/**
 * Events of a stream that follow from the log and are not in it: the lines that an attempt printed, each node that the end of its run, or
 * the begin of a rollback, cancelled, and the start of a step of code. They cost no write (docs/decisions/derived-events.md).
 */
import { defined } from '../../base/defined.ts';
import { type Attempt, type NodeRef, nodeKey, topLevel } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { isTerminalRunEvent } from '../devkit/events.ts';
import { isWorkflowTaskNode } from '../durable/step.ts';
import { type Instant, after, iso, seconds } from '../time.ts';
import { type DerivedEventName, type PublicEventName, derivedEventNames, mapEngineEventToSse } from './event-names.ts';
import { openNodes } from './fold.ts';
import { withStepStart } from './open-nodes.ts';
import { type MappedEvent, type PublicEvent, type RunIdentity, envelopeOf } from './public-event.ts';
import type { RunState } from './run-state.ts';

/** A derived event as readers see it. It has the id of the event before it. */
export interface DerivedEvent extends Omit<PublicEvent, 'eventId' | 'sequence' | 'type'> {
  readonly eventId: number;
  readonly sequence: number;
  readonly type: DerivedEventName | PublicEventName;
}

/** @param state the fold of the run, which includes the event */
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

/** A step of code is announced after this time. For a shorter one, the event of its outcome has the start. */
const announceAfter = seconds(1);

/**
 * The start of each step function that has run for a second. No commit records it: the dispatch is the start.
 * @param last the id of the last event of the state
 * @param announced the attempts that this stream has announced; the function adds to them
 */
export function stepStarts(
  run: RunIdentity,
  state: RunState,
  { now, last, announced }: { readonly now: Instant; readonly last: number; readonly announced: Set<string> },
): readonly DerivedEvent[] {
  return openNodes(state).flatMap((open) => {
    const node = open.status === 'queued' ? withStepStart(open, now) : undefined;
    if (node?.status !== 'running' || after(node.startedAt, announceAfter) > now) return [];
    const name = `${nodeKey(node)}#${node.attempt}`;
    if (announced.has(name)) return [];
    announced.add(name);
    const payload = { ...attemptFields(node), startedAt: iso(node.startedAt) };
    const type = mapEngineEventToSse({ type: 'NODE_STARTED' });
    return [{ eventId: last, sequence: last, type, ...envelopeOf(run, node.startedAt), payload }];
  });
}

const attemptFields = ({ nodeId, iteration, attempt }: NodeRef & { readonly attempt: Attempt }): JsonObject =>
  defined({ nodeId, iteration: iteration === topLevel ? undefined : iteration, attempt });
