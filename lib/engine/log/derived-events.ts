/**
 * Events of a stream that follow from an event of the log and are not in the log: the lines that an attempt printed, and each node that
 * the end of its run, or the begin of a rollback, cancelled. One event of the log stands for all of them, so they cost no write.
 */
import { defined } from '../../base/defined.ts';
import { type Attempt, type NodeRef, topLevel } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { isWorkflowTaskNode } from '../durable/step.ts';
import { type DerivedEventName, derivedEventNames } from './event-names.ts';
import type { MappedEvent, PublicEvent } from './public-event.ts';
import type { RunState } from './run-state.ts';

/** A derived event as readers see it. It comes before the event that it follows from, so it has the id of the one before. */
export interface DerivedEvent extends Omit<PublicEvent, 'eventId' | 'sequence' | 'type'> {
  readonly eventId: number;
  readonly sequence: number;
  readonly type: DerivedEventName;
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
      return [...state.nodes.entries()].flatMap(([, node]) =>
        node.status === 'cancelled' && node.endedBy === event.eventId && !isWorkflowTaskNode(node.nodeId)
          ? [derived(derivedEventNames.cancelled, attemptFields(node))]
          : [],
      );
    default:
      return [];
  }
}

const attemptFields = ({ nodeId, iteration, attempt }: NodeRef & { readonly attempt: Attempt }): JsonObject =>
  defined({ nodeId, iteration: iteration === topLevel ? undefined : iteration, attempt });
